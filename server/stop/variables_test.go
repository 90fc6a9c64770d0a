package stop

import (
	"errors"
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// TestVariables: a frame has variables where its CFA is known, and by more than a guess.
func TestVariables(t *testing.T) {
	for _, c := range []struct {
		frame unwind.Frame
		want  error
	}{
		{unwind.Frame{Trust: unwind.TrustCFI, CFA: 0x1000}, nil},
		{unwind.Frame{Trust: unwind.TrustFramePointer, CFA: 0x1000}, nil},
		{unwind.Frame{Trust: unwind.TrustScan, CFA: 0x1000}, ErrScanned},
		{unwind.Frame{Trust: unwind.TrustCFI, CFA: 0x1000, TailCall: true}, ErrTailCall},
		{unwind.Frame{Trust: unwind.TrustContext}, ErrNoCFA},
	} {
		if err := Variables(&c.frame); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.frame, err, c.want)
		}
	}
}

// TestSame: Delve's frames are compared with the page's, and counted.
func TestSame(t *testing.T) {
	st := &Stack{}
	for _, pc := range []uint64{0x10, 0x20, 0x30} {
		st.Frames = append(st.Frames, unwind.Frame{PC: unwind.Code(pc, unwind.KindInstruction)})
	}
	for _, c := range []struct {
		start, end int
		pcs        []uint64
		want       bool
	}{
		{0, 3, []uint64{0x10, 0x20, 0x30}, true},
		{0, 9, []uint64{0x10, 0x20, 0x30}, true},
		{1, 2, []uint64{0x20}, true},
		{5, 9, nil, true},
		{0, 3, []uint64{0x10, 0x20}, false},
		{0, 2, []uint64{0x10, 0x20, 0x30}, false},
		{1, 3, []uint64{0x20, 0x31}, false},
	} {
		if got := st.Same(c.start, c.end, len(c.pcs), func(i int) uint64 { return c.pcs[i] }); got != c.want {
			t.Errorf("%d to %d, %#x: %v", c.start, c.end, c.pcs, got)
		}
	}
}
