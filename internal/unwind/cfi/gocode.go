package cfi

import "github.com/clewdbg/clew/unwind"

// Go's FDEs say where the CFA and the return address are and nothing else,
// though a function with a frame saves its caller's frame pointer: on amd64
// right below the return address, on arm64 right below its own stack pointer
// (R12). The frame pointer of such a function points to the saved one.

// goSlot is the place of the saved frame pointer relative to the CFA (amd64) or
// the stack pointer (arm64), and the CFA's offset where there is no frame.
func (row *Row) goSlot() (offset, frameless int64) {
	if row.table.opts.Arch == unwind.ARM64 {
		return -8, 0
	}
	return -16, 8
}

// goFramePointer gives the caller's frame pointer where the frame's own one
// shows that it was saved, or where there is no frame yet. Else it is lost:
// assembly may use the register for anything.
func (e *evaluation) goFramePointer(out *unwind.Registers) error {
	arch := e.row.table.opts.Arch
	fp, ok := e.frame.Registers.FP(arch)
	if !ok || e.row.CFA.Kind != InRegister || e.row.CFA.Register != arch.SP() {
		return nil
	}
	offset, frameless := e.row.goSlot()
	if e.row.CFA.Offset == frameless {
		out.Set(arch.FP(), fp)
		return nil
	}
	base := e.cfa
	if arch == unwind.ARM64 {
		base, _ = e.frame.Registers.SP(arch)
	}
	if fp != base+uint64(offset) {
		return nil
	}
	saved, err := e.word(fp)
	if err != nil {
		return err
	}
	out.Set(arch.FP(), saved)
	return nil
}
