package cause

import (
	"cmp"
	"fmt"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/unwind"
)

// Fault is a signal that ends a program, as the kernel has described it (sigaction(2), Linux).
type Fault struct {
	Signal  syscall.Signal
	Code    int64  // si_code
	Address uint64 // si_addr; for a signal that was sent, the sender; for SIGSYS, where the call is
	Number  uint64 // of SIGSYS: the system call
	access  string // what was tried: "a read", "a write", "a jump"
}

// Values of si_code.
const (
	codeKernel   = 0x80 // the kernel does not know the address
	codeSent     = -1   // SI_QUEUE; by kill it is 0
	codeThread   = -6   // SI_TKILL
	busNoFile    = 2    // BUS_ADRERR
	busMisplaced = 1    // BUS_ADRALN
	fpeDivision  = 1    // FPE_INTDIV
)

// hasAddress says that the fault is about an address of data.
func (f *Fault) hasAddress() bool {
	return (f.Signal == syscall.SIGSEGV || f.Signal == syscall.SIGBUS) && f.Code > 0 && f.Code != codeKernel
}

// Name is the signal's, "SIGSEGV".
func (f *Fault) Name() string {
	if name := unix.SignalName(f.Signal); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(f.Signal))
}

// CodeName is that of si_code (sigaction(2)), "" if it has none.
func (f *Fault) CodeName() string {
	if name := anyCode[f.Code]; name != "" {
		return name
	}
	if names := codeNames[f.Signal]; f.Code > 0 && f.Code <= int64(len(names)) {
		return names[f.Code-1]
	}
	return ""
}

// anyCode are values of si_code that any signal may have.
var anyCode = map[int64]string{
	0: "SI_USER", codeKernel: "SI_KERNEL", codeSent: "SI_QUEUE", -2: "SI_TIMER", -3: "SI_MESGQ", -4: "SI_ASYNCIO", -5: "SI_SIGIO", codeThread: "SI_TKILL",
}

// codeNames are those of one signal, from 1 on.
var codeNames = map[syscall.Signal][]string{
	syscall.SIGSEGV: {"SEGV_MAPERR", "SEGV_ACCERR", "SEGV_BNDERR", "SEGV_PKUERR"},
	syscall.SIGBUS:  {"BUS_ADRALN", "BUS_ADRERR", "BUS_OBJERR", "BUS_MCEERR_AR", "BUS_MCEERR_AO"},
	syscall.SIGFPE:  {"FPE_INTDIV", "FPE_INTOVF", "FPE_FLTDIV", "FPE_FLTOVF", "FPE_FLTUND", "FPE_FLTRES", "FPE_FLTINV", "FPE_FLTSUB"},
	syscall.SIGILL:  {"ILL_ILLOPC", "ILL_ILLOPN", "ILL_ILLADR", "ILL_ILLTRP", "ILL_PRVOPC", "ILL_PRVREG", "ILL_COPROC", "ILL_BADSTK"},
	syscall.SIGTRAP: {"TRAP_BRKPT", "TRAP_TRACE", "TRAP_BRANCH", "TRAP_HWBKPT"},
	syscall.SIGSYS:  {"SYS_SECCOMP"},
}

// describe says what has happened. There has what lies at the address, and own is the program's ID.
func (f *Fault) describe(own int, there string) string {
	switch {
	case f.Code <= 0 && f.Code < codeSent && f.Code != codeThread:
		return fmt.Sprintf("sent by the system (code %d)", f.Code)
	case f.Code <= 0:
		sender := uint32(f.Address)
		if int(sender) == own {
			return "sent by the program itself"
		}
		return fmt.Sprintf("sent by process %d", sender)
	case f.hasAddress():
		at := fmt.Sprintf("%s at %#x", f.access, f.Address)
		if f.Signal == syscall.SIGBUS && f.Code == busMisplaced {
			at += ", which is not aligned"
		}
		if f.Signal == syscall.SIGBUS && f.Code == busNoFile {
			at += ", beyond the end of the file"
		}
		return at + ": " + there
	case f.Signal == syscall.SIGSEGV:
		return "the processor has refused an access, and does not say where (as for an address that is not canonical)"
	case f.Signal == syscall.SIGFPE && f.Code == fpeDivision:
		return "an integer was divided by zero"
	case f.Signal == syscall.SIGSYS:
		return fmt.Sprintf("system call %d is forbidden to the program (seccomp)", f.Number)
	case f.Signal == syscall.SIGILL:
		return fmt.Sprintf("illegal instruction at %#x", f.Address)
	}
	return fmt.Sprintf("code %d at %#x", f.Code, f.Address)
}

// whatLies says what lies at an address: its mapping and what that permits, or that it lies below the stack of one
// of the threads.
func whatLies(at uint64, maps []imagemap.Mapping, threads []reading.Thread) string {
	here := mappingOf(at, maps)
	if text := belowStack(at, here, maps, threads); text != "" {
		return text
	}
	if here == nil {
		return "unmapped"
	}
	name := cmp.Or(here.Path, "memory without a file")
	return fmt.Sprintf("%s, %s (%#x-%#x)", name, permits(here.Perm), here.Start, here.End)
}

// permits says what a mapping permits.
func permits(perm string) string {
	var may []string
	for i, word := range []string{"readable", "writable", "executable"} {
		if i < len(perm) && perm[i] != '-' {
			may = append(may, word)
		}
	}
	return cmp.Or(strings.Join(may, " and "), "no access")
}

func mappingOf(at uint64, maps []imagemap.Mapping) *imagemap.Mapping {
	for i := range maps {
		if maps[i].Start <= at && at < maps[i].End {
			return &maps[i]
		}
	}
	return nil
}

// belowStack says below whose stack an address lies: in the guard page that the thread library has put there,
// or in the gap that the kernel leaves below the main thread's.
func belowStack(at uint64, here *imagemap.Mapping, maps []imagemap.Mapping, threads []reading.Thread) string {
	const gap = 1 << 20 // the kernel's stack_guard_gap
	for i := range threads {
		stack := stackOf(&threads[i], maps)
		switch {
		case stack == nil || at >= stack.Start:
		case here != nil && here.End == stack.Start && permits(here.Perm) == "no access":
			return fmt.Sprintf("guard page below the stack of thread %d, which has overflown", threads[i].ID)
		case here == nil && stack.Path == "[stack]" && stack.Start-at <= gap:
			return fmt.Sprintf("unmapped, %d bytes below the stack of thread %d, which has overflown", stack.Start-at, threads[i].ID)
		}
	}
	return ""
}

// stackOf returns the mapping of a thread's own stack.
func stackOf(th *reading.Thread, maps []imagemap.Mapping) *imagemap.Mapping {
	for _, s := range th.Segments {
		if (s.Kind == unwind.SegmentThread || s.Kind == unwind.SegmentG0) && s.High > 0 {
			return mappingOf(s.High-1, maps)
		}
	}
	return nil
}
