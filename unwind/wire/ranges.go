package wire

import (
	"math"

	"github.com/clewdbg/clew/unwind"
	pb "github.com/clewdbg/clew/unwind/wire/unwindv1"
)

func rangesToWire(ranges unwind.RangeSet) *pb.Ranges {
	if len(ranges) == 0 {
		return nil
	}
	deltas := make([]uint64, 0, 2*len(ranges))
	at := uint64(0)
	for _, r := range ranges {
		deltas = append(deltas, r.Start-at, r.End-r.Start)
		at = r.End
	}
	return &pb.Ranges{Deltas: deltas}
}

func rangesFromWire(method, what string, ranges *pb.Ranges) (unwind.RangeSet, error) {
	deltas := ranges.GetDeltas()
	if len(deltas) == 0 {
		return nil, nil
	}
	if len(deltas)%2 != 0 {
		return nil, broken(method, "%s: %d deltas, which is not two for each range", what, len(deltas))
	}
	set := make(unwind.RangeSet, 0, len(deltas)/2)
	at := uint64(0)
	for i := 0; i < len(deltas); i += 2 {
		gap, size := deltas[i], deltas[i+1]
		switch {
		case size == 0:
			return nil, broken(method, "%s: range %d is empty", what, i/2)
		case gap == 0 && i > 0:
			return nil, broken(method, "%s: range %d touches the one before", what, i/2)
		case gap > math.MaxUint64-at || size > math.MaxUint64-at-gap:
			return nil, broken(method, "%s: range %d ends past the address space", what, i/2)
		}
		r := unwind.Range{Start: at + gap, End: at + gap + size}
		set = append(set, r)
		at = r.End
	}
	return set, nil
}
