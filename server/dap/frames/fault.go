package frames

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

// fault is a signal that ends the program, as the kernel has described it to the handler (sigaction(2), Linux).
type fault struct {
	signal  syscall.Signal
	code    int64  // si_code
	address uint64 // si_addr; for a signal that was sent, the sender
	access  string // what was tried: "a read", "a write", "a jump"
}

// Values of si_code.
const (
	codeKernel   = 0x80 // the kernel does not know the address
	busNoFile    = 2    // BUS_ADRERR
	busMisplaced = 1    // BUS_ADRALN
	fpeDivision  = 1    // FPE_INTDIV
)

// hasAddress says that the fault is about an address of data.
func (f *fault) hasAddress() bool {
	return (f.signal == syscall.SIGSEGV || f.signal == syscall.SIGBUS) && f.code > 0 && f.code != codeKernel
}

// name is the signal's, "SIGSEGV".
func (f *fault) name() string {
	if name := unix.SignalName(f.signal); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(f.signal))
}

// describe says what has happened. There has what lies at the address, and own is the program's ID.
func (f *fault) describe(own int, there string) string {
	switch {
	case f.code <= 0:
		sender := uint32(f.address)
		if int(sender) == own {
			return "sent by the program itself"
		}
		return fmt.Sprintf("sent by process %d", sender)
	case f.hasAddress():
		at := fmt.Sprintf("%s at %#x", f.access, f.address)
		if f.signal == syscall.SIGBUS && f.code == busMisplaced {
			at += ", which is not aligned"
		}
		if f.signal == syscall.SIGBUS && f.code == busNoFile {
			at += ", beyond the end of the file"
		}
		return at + ": " + there
	case f.signal == syscall.SIGSEGV:
		return "the processor has refused an access, and does not say where (as for an address that is not canonical)"
	case f.signal == syscall.SIGFPE && f.code == fpeDivision:
		return "an integer was divided by zero"
	case f.signal == syscall.SIGILL:
		return fmt.Sprintf("illegal instruction at %#x", f.address)
	}
	return fmt.Sprintf("code %d at %#x", f.code, f.address)
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
