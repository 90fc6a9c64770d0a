package singlestep

import (
	"fmt"
	"syscall"
)

// breakpoint is the instruction int3.
var breakpoint = []byte{0xcc}

// Registers implements [Program].
func (p *Process) Registers() (r Registers, err error) {
	var pr syscall.PtraceRegs
	err = syscall.PtraceGetRegs(p.PID, &pr)
	copy(r[:], []uint64{pr.Rax, pr.Rdx, pr.Rcx, pr.Rbx, pr.Rsi, pr.Rdi, pr.Rbp, pr.Rsp,
		pr.R8, pr.R9, pr.R10, pr.R11, pr.R12, pr.R13, pr.R14, pr.R15, pr.Rip})
	return r, err
}

// standAt moves the program counter back to the address of the breakpoint instruction that
// was executed.
func (p *Process) standAt(addr uint64) error {
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(p.PID, &regs); err != nil {
		return err
	}
	if regs.Rip != addr+1 {
		return fmt.Errorf("the program stopped at %#x, not behind %#x", regs.Rip, addr)
	}
	regs.Rip = addr
	return syscall.PtraceSetRegs(p.PID, &regs)
}
