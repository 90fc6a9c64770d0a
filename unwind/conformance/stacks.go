package conformance

import (
	"fmt"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/stackasm"
)

// recordsCode is the alleged address of the code of [FrameRecords].
const recordsCode = 0x40_0000

// FrameRecords makes a walk over a chain of frame records on amd64 or arm64
// that ends with a frame pointer of 0. The frame asked about is stopped behind a
// call, so that no code is needed. The walk's callers have n different return
// addresses, recordsCode+0x100 and up.
func FrameRecords(arch unwind.Arch, n int) (Walk, error) {
	if n < 1 || arch != unwind.AMD64 && arch != unwind.ARM64 {
		return Walk{}, fmt.Errorf("no chain of %d frame records on %v", n, arch)
	}
	w := Walk{Name: fmt.Sprintf("%d frame records on %v", n, arch)}
	s := stackasm.New(arch, 0x7ffd_0000_0000).Mark("sp").Pad(32)
	for i := range n {
		s.Mark(fmt.Sprint("fp", i))
		if i < n-1 {
			s.Ref(fmt.Sprint("fp", i+1))
		} else {
			s.Word(0)
		}
		pc := recordsCode + uint64(i+1)*0x100
		s.Word(pc).Pad(16 * (1 + i%7))
		w.Callers = append(w.Callers, pc)
	}
	m, err := s.Assemble()
	if err != nil {
		return Walk{}, err
	}
	w.Request = unwind.WalkRequest{Arch: arch, Kind: unwind.KindReturn, MaxFrames: n + 10,
		Stack: m.Windows(), Segment: m.Segment(unwind.SegmentThread)}
	w.Request.Registers.Set(arch.PC(), recordsCode)
	w.Request.Registers.Set(arch.SP(), m.Addr("sp"))
	w.Request.Registers.Set(arch.FP(), m.Addr("fp0"))
	return w, nil
}
