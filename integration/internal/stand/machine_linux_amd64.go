package stand

import "syscall"

// trapMoves is how far the program counter is behind a breakpoint instruction that was
// executed.
const trapMoves = 1

// breakpoint is the instruction.
var breakpoint = []byte{0xcc}

// isBreakpoint says that code begins with a breakpoint instruction of the program's own.
func isBreakpoint(code []byte) bool { return code[0] == breakpoint[0] }

func programCounter(tid int) (uint64, error) {
	var regs syscall.PtraceRegs
	err := syscall.PtraceGetRegs(tid, &regs)
	return regs.Rip, err
}

func setProgramCounter(tid int, pc uint64) error {
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
		return err
	}
	regs.Rip = pc
	return syscall.PtraceSetRegs(tid, &regs)
}
