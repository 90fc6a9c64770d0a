package cause

import (
	"encoding/binary"
	"slices"
	"strings"
	"syscall"

	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/unwind"
)

// The kernel puts a record of the signal beside the interrupted registers before it calls a handler (struct rt_sigframe). On
// amd64 struct ucontext is where the handler's return leaves SP, and struct siginfo behind it (arch/x86/include/asm/sigframe.h);
// on arm64 siginfo comes first (arch/arm64/kernel/signal.c).
const (
	amd64Siginfo = 304
	amd64PC      = 40 + 16*8
	arm64Context = 128
	arm64PC      = arm64Context + 176 + 8 + 32*8
)

// InfoSize is the size of struct siginfo.
const InfoSize = 128

// ParseInfo reads a struct siginfo of 64 bits.
func ParseInfo(info []byte, order binary.ByteOrder) *Fault {
	f := &Fault{Signal: syscall.Signal(order.Uint32(info)), Code: int64(int32(order.Uint32(info[8:]))), Address: order.Uint64(info[16:])}
	if f.Signal == syscall.SIGSYS && f.Code > 0 {
		f.Number = uint64(order.Uint32(info[24:]))
	}
	return f
}

// delivered reads which signal interrupted the code at pc, whose handler returns to the frame.
func delivered(t *assembler.Target, trampoline *unwind.Frame, pc uint64) *Fault {
	sp, ok := trampoline.Registers.SP(t.Arch)
	if !ok || t.OS != "linux" {
		return nil
	}
	info, context, at := sp+amd64Siginfo, sp, sp+amd64PC
	switch t.Arch {
	case unwind.AMD64:
	case unwind.ARM64:
		info, context, at = sp, sp+arm64Context, sp+arm64PC
	default:
		return nil
	}
	if saved, err := unwind.ReadWord(t.Memory, at, 8, t.Arch.ByteOrder()); err != nil || saved != pc {
		return nil
	}
	buf := make([]byte, InfoSize)
	if t.Memory.ReadMemory(info, buf) != nil {
		return nil
	}
	f := ParseInfo(buf, t.Arch.ByteOrder())
	if f.Signal < 1 || f.Signal > 64 {
		return nil
	}
	if f.hasAddress() {
		f.access = accessOf(t, f.Address, context)
	}
	return f
}

// death is where and how a stack says that its thread died.
type death struct {
	fault    *Fault // nil where no signal has done it, or it is not known
	frame    int    // that was interrupted, or the function that panicked; -1 if there is none
	panicked bool   // by a panic of Go's
	fatal    bool   // by an error of Go's runtime
	byPanic  bool   // the signal became the panic
}

// How Go's runtime ends a program (runtime/panic.go, signal_unix.go).
const (
	goPanic    = "runtime.gopanic"
	goSigpanic = "runtime.sigpanic"
)

var (
	goFatal = []string{"runtime.throw", "runtime.fatal", "runtime.fatalthrow"}
	// goRaises are the functions in which the runtime sends itself the signal that it dies by.
	goRaises = []string{"runtime.raise", "runtime.raiseproc", "runtime.tgkill"}
)

// isRaised says whether the runtime itself has sent a signal that came in this frame.
func isRaised(f *unwind.Frame) bool { return slices.Contains(goRaises, f.Function) }

// ofRuntime says whether a function passes a panic or an error on that is of its caller.
func ofRuntime(function string) bool {
	return slices.ContainsFunc([]string{"runtime.", "internal/", "sync."}, func(prefix string) bool { return strings.HasPrefix(function, prefix) })
}

// readDeath goes through a stack from its innermost frame until something says how the thread died. kernel is the signal that ended the
// process, where a core file has it; nil if it is not known.
func readDeath(t *assembler.Target, frames []unwind.Frame, kernel *Fault) death {
	out := death{frame: -1}
	if len(frames) == 0 {
		return death{fault: kernel, frame: -1}
	}
	if kernel != nil && !isRaised(&frames[0]) {
		if kernel.hasAddress() {
			kernel.access = accessByCode(t, frames, kernel.Address)
		}
		return death{fault: kernel, frame: 0}
	}
	for i := range frames {
		f := &frames[i]
		switch {
		case i > 0 && f.PC.Kind() == unwind.KindInstruction && f.PC != frames[i-1].PC && frames[i-1].Function == goSigpanic:
			out.byPanic, out.frame = true, i
			return out
		case i > 0 && f.PC.Kind() == unwind.KindInstruction && f.PC != frames[i-1].PC:
			if out.panicked || out.fatal { // in a handler
				out.frame = i
				return out
			}
			fault := delivered(t, &frames[i-1], f.PC.Raw())
			if fault == nil || isRaised(f) || !endsProgram[fault.Signal] {
				break
			}
			return death{fault: fault, frame: i}
		case f.Function == goPanic:
			out.panicked = true
		case slices.Contains(goFatal, f.Function):
			out.fatal = true
		case i+1 < len(frames) && frames[i+1].PC.Kind() == unwind.KindInstruction && frames[i+1].PC != f.PC:
			// what a signal's handler returns to
		case (out.panicked || out.fatal) && !ofRuntime(f.Function):
			out.frame = i // the function that panicked
			return out
		}
	}
	if kernel != nil && !out.panicked && !out.fatal {
		return death{fault: kernel, frame: 0}
	}
	return out
}

// endsProgram has the signals by which a program dies of a fault of its own (signal(7): those that write a core file).
var endsProgram = map[syscall.Signal]bool{
	syscall.SIGQUIT: true, syscall.SIGILL: true, syscall.SIGTRAP: true, syscall.SIGABRT: true, syscall.SIGBUS: true, syscall.SIGFPE: true,
	syscall.SIGSEGV: true, syscall.SIGXCPU: true, syscall.SIGXFSZ: true, syscall.SIGSYS: true,
}
