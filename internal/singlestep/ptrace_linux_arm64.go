package singlestep

import (
	"debug/elf"
	"fmt"

	"golang.org/x/sys/unix"
)

// breakpoint is the instruction brk #0.
var breakpoint = []byte{0x00, 0x00, 0x20, 0xd4}

// Registers implements [Program].
func (p *Process) Registers() (r Registers, err error) {
	var pr unix.PtraceRegsArm64
	err = unix.PtraceGetRegSetArm64(p.PID, int(elf.NT_PRSTATUS), &pr)
	copy(r[:], pr.Regs[:])
	r[31], r[32] = pr.Sp, pr.Pc
	return r, err
}

// standAt says that the program stopped at the address: the program counter stays at a
// breakpoint instruction.
func (p *Process) standAt(addr uint64) error {
	regs, err := p.Registers()
	if err == nil && regs[32] != addr {
		err = fmt.Errorf("the program stopped at %#x, not at %#x", regs[32], addr)
	}
	return err
}
