package glance

import (
	"debug/elf"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/clewdbg/clew/unwind"
)

const supported = true

// makesProcess are the system calls that make a process.
var makesProcess = []int{unix.SYS_CLONE, unix.SYS_CLONE3}

// readRegisters reads a stopped thread's registers.
func readRegisters(tid int) (out unwind.Registers, err error) {
	var r unix.PtraceRegsArm64
	if err := unix.PtraceGetRegSetArm64(tid, int(elf.NT_PRSTATUS), &r); err != nil {
		return out, err
	}
	set := func(name string, value uint64) {
		if reg, ok := unwind.ARM64.ParseRegister(name); ok {
			out.Set(reg, value)
		}
	}
	for i, value := range r.Regs {
		set(fmt.Sprintf("x%d", i), value)
	}
	set("sp", r.Sp)
	set("pc", r.Pc)
	return out, nil
}
