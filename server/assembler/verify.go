package assembler

import (
	"fmt"

	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
)

// codeSays checks a step that rests on a frame pointer, or on less, against the
// code of the function that it leaves: simulated from its start, the code says
// where its frame is and where the return address. A step that says otherwise is
// refused; it would skip callers silently. "" is no objection: the function's
// start is unknown, its code leaves a doubt, or a register is not known.
//
// Situation: code with and without frame pointers in one stack. Examples: a
// library built with -fomit-frame-pointer calls back into one built with; a stop
// in a leaf, whose frame pointer is its caller's still. What handles it: the
// refusal here; the strategy is asked again with the function's code, or the next
// one is. Tests: TestRunIsCutWhereCodeKeepsNoFramePointer,
// TestCodeContradictsAFramePointer.
func (w *walker) codeSays(step *unwind.Step) string {
	if step.Trust > unwind.TrustFramePointer {
		return ""
	}
	f := w.last()
	rule := w.ruleOf(f)
	// What is only likely counts for more than a chain that nobody has checked, and
	// for less than what anything else has found.
	if rule == nil && step.Trust == unwind.TrustFramePointer {
		rule, _ = w.codeOf(f)
	}
	if rule == nil {
		return ""
	}
	arch := w.target.Arch
	base, ok := f.Registers.Get(unwind.Register(rule.CFA.Base))
	if !ok || rule.CFA.Deref {
		return ""
	}
	cfa := base + uint64(rule.CFA.Off)
	pc, _ := step.Caller.PC(arch)
	// On arm64 the record may lie anywhere in its frame, so that a chain of
	// records does not give the CFA: there only the return address is compared.
	if arch == unwind.AMD64 && step.CFA != cfa {
		return fmt.Sprintf("the function's own code puts its CFA at %#x, not at %#x", cfa, step.CFA)
	}
	want, ok := w.returnAddress(f, rule, cfa)
	if ok && want&^w.target.PACMask != pc {
		return fmt.Sprintf("the function's own code puts the return address %#x where this has %#x", want, pc)
	}
	return ""
}

// returnAddress reads the return address where the rule says that it is.
func (w *walker) returnAddress(f *unwind.Frame, rule *prologue.Rule, cfa uint64) (uint64, bool) {
	switch rule.RA.Kind {
	case prologue.InReg:
		return f.Registers.Get(unwind.Register(rule.RA.Reg))
	case prologue.AtCFA:
		return w.word(cfa + uint64(rule.RA.Off))
	}
	return 0, false
}

// word reads a word of the stack, from the window that was read last where that
// has it.
func (w *walker) word(addr uint64) (uint64, bool) {
	size := w.target.Arch.PointerSize()
	if at := addr - w.seen.Addr; addr >= w.seen.Addr && at < uint64(len(w.seen.Data)) && len(w.seen.Data)-int(at) >= size {
		data := w.seen.Data[at:]
		if size == 4 {
			return uint64(w.target.order().Uint32(data)), true
		}
		return w.target.order().Uint64(data), true
	}
	v, err := w.target.word(addr)
	return v, err == nil
}

// ruleOf gives the rule that the code of a frame's function shows for certain,
// nil if it shows none.
func (w *walker) ruleOf(f *unwind.Frame) *prologue.Rule {
	if rule, _ := w.codeOf(f); rule != nil && rule.Certain == prologue.Exact {
		return rule
	}
	return nil
}

// codeOf gives the rule that the code of a frame's function shows, be it only
// likely; nil if it shows none. known is false where there is no code to ask.
func (w *walker) codeOf(f *unwind.Frame) (rule *prologue.Rule, known bool) {
	at := f.PC.Lookup(w.target.Arch)
	w.function(at)
	entry := w.cache[at]
	if !entry.simulated {
		entry.simulated = true
		if entry.ok && !entry.fn.Go {
			code := w.code(entry.fn, f.PC.Raw())
			entry.coded = len(code) > 0
			if entry.fn.Exact {
				entry.rule = w.simulated(code, entry.fn.Start, f.PC.Raw())
			}
		}
		w.cache[at] = entry
	}
	return entry.rule, entry.coded
}

// simulate gives the rule that a function's code shows for certain, nil if none.
func (w *walker) simulate(fn Function, pc uint64) *prologue.Rule {
	rule := w.simulated(w.code(fn, pc), fn.Start, pc)
	if rule == nil || rule.Certain != prologue.Exact {
		return nil
	}
	return rule
}

func (w *walker) simulated(code []byte, start, pc uint64) *prologue.Rule {
	run := prologue.AMD64
	switch w.target.Arch {
	case unwind.AMD64:
	case unwind.ARM64:
		run = prologue.ARM64
	default:
		return nil
	}
	rule, verdict := run(code, start, pc)
	if verdict.Kind == prologue.Unknown {
		return nil
	}
	return &rule
}
