package assembler

import (
	"context"
	"encoding/binary"

	"github.com/clewdbg/clew/internal/unwind/callsite"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// Nothing says where generated code's functions begin. But a program may stand at the very
// instruction that the call before its return address enters: then that is a function's first one,
// nothing of it has run, and the caller is where every call leaves it.
//
// Situation: generated code without a landing pad faults (BTI), or begins with a breakpoint
// instruction; a breakpoint at its first instruction. Test: TestAtEntry; integration/arm64, brk
// and faults.

const noteAtEntry = "the call before the return address enters this very instruction: nothing of the function has run"

// leaveEntry leaves an innermost frame of unknown code whose program counter is the target of the
// call that has led there.
func leaveEntry(w *walker, _ context.Context) outcome {
	f, arch := w.last(), w.target.Arch
	if f.PC.Kind() != unwind.KindInstruction || w.code.wild(f) || w.code.functionOf(f).known {
		return nothing // of a pointer to nowhere the registers say little: many are 0
	}
	entry := rule.Entry(arch)
	var step unwind.Step
	if w.code.stepBy(&entry, &f.Registers, f.PC.Kind(), &step) != nil {
		return nothing
	}
	ra, _ := step.Caller.PC(arch)
	if ra == f.PC.Raw() || !w.code.callEnters(ra, f) {
		return nothing
	}
	w.room.step = step
	w.room.step.Trust, w.room.step.Note = unwind.TrustCFI, noteAtEntry
	return w.take(candidate{step: &w.room.step, strategy: strategySignal, trust: unwind.TrustCFI})
}

// callEnters reports whether the call before a return address enters a frame's instruction:
// it names that address, or a register that still holds it.
func (p *program) callEnters(ra uint64, f *unwind.Frame) bool {
	pc := f.PC.Raw()
	calls, _ := p.callsBefore(ra)
	for _, c := range calls {
		if c.Direct && c.Target == pc {
			return true
		}
	}
	for _, reg := range calledRegisters(p.target.Arch, p.code(ra-callsite.Longest, callsite.Longest)) {
		if v, ok := f.Registers.Get(reg); ok && v&^p.target.PACMask == pc {
			return true
		}
	}
	return false
}

// calledRegisters are those through which the call that code ends with may go. On amd64 the
// byte before it may be its prefix.
func calledRegisters(arch unwind.Arch, code []byte) []unwind.Register {
	if len(code) < callsite.Longest {
		return nil
	}
	switch arch {
	case unwind.ARM64: // BLR, BLRAA, BLRAAZ and so on (Arm ARM, C6.2)
		const blr, varies = 0xd63f0000, 0x01000fff // which key, and both registers
		if word := binary.LittleEndian.Uint32(code[len(code)-4:]); word&^varies == blr {
			return []unwind.Register{unwind.Register(word >> 5 & 31)}
		}
	case unwind.AMD64: // FF /2 (Intel SDM volume 2, CALL)
		at := len(code) - 2
		if code[at] != 0xff || code[at+1]&0xf8 != 0xd0 {
			return nil
		}
		low := code[at+1] & 7
		regs := []unwind.Register{unwind.Register(dwarfOf[low])}
		if code[at-1]&0xf1 == 0x41 { // REX.B
			regs = append(regs, unwind.Register(dwarfOf[low|8]))
		}
		return regs
	}
	return nil
}
