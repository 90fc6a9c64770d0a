package glance

import (
	"golang.org/x/sys/unix"

	"github.com/clewdbg/clew/unwind"
)

const supported = true

// makesProcess are the system calls that make a process.
var makesProcess = []int{unix.SYS_CLONE, unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_CLONE3}

// readRegisters reads a stopped thread's registers.
func readRegisters(tid int) (out unwind.Registers, err error) {
	var r unix.PtraceRegs
	if err := unix.PtraceGetRegs(tid, &r); err != nil {
		return out, err
	}
	for name, value := range map[string]uint64{
		"rip": r.Rip, "rsp": r.Rsp, "rbp": r.Rbp, "rax": r.Rax, "rbx": r.Rbx, "rcx": r.Rcx, "rdx": r.Rdx, "rsi": r.Rsi, "rdi": r.Rdi,
		"r8": r.R8, "r9": r.R9, "r10": r.R10, "r11": r.R11, "r12": r.R12, "r13": r.R13, "r14": r.R14, "r15": r.R15,
	} {
		if reg, ok := unwind.AMD64.ParseRegister(name); ok {
			out.Set(reg, value)
		}
	}
	return out, nil
}
