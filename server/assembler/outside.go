package assembler

import (
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

const noteOutside = "the stack pointer lies outside the thread's stacks: the frame is found by its frame pointer"

// framed returns the frame pointer of a frame whose stack pointer lies on no stack, as behind an alloca of more than the
// stack can hold, and the stack that it lies on, if the function's code keeps a frame pointer there; else -1.
func (w *walker) framed(f *unwind.Frame) (fp uint64, segment int) {
	arch := w.target.Arch
	fp, ok := f.Registers.FP(arch)
	segment = w.stacks.index(fp)
	if row := w.code.certainRule(f); !ok || row == nil || row.CFA.From != rule.Register || row.CFA.Deref || row.CFA.Register != arch.FP() {
		return 0, -1
	}
	return fp, segment
}
