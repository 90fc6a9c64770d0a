package stand

import (
	"debug/elf"
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// trapMoves is how far the program counter is behind a breakpoint instruction: it stays
// there.
const trapMoves = 0

// breakpoint is the instruction, brk #0.
var breakpoint = []byte{0x00, 0x00, 0x20, 0xd4}

// isBreakpoint says that code begins with a breakpoint instruction of any number.
func isBreakpoint(code []byte) bool {
	return binary.LittleEndian.Uint32(code)&^(0xffff<<5) == binary.LittleEndian.Uint32(breakpoint)
}

func programCounter(tid int) (uint64, error) {
	var regs unix.PtraceRegsArm64
	err := unix.PtraceGetRegSetArm64(tid, int(elf.NT_PRSTATUS), &regs)
	return regs.Pc, err
}

func setProgramCounter(tid int, pc uint64) error {
	var regs unix.PtraceRegsArm64
	if err := unix.PtraceGetRegSetArm64(tid, int(elf.NT_PRSTATUS), &regs); err != nil {
		return err
	}
	regs.Pc = pc
	return unix.PtraceSetRegSetArm64(tid, int(elf.NT_PRSTATUS), &regs)
}
