package assembler

import (
	"fmt"
	"strings"

	"github.com/clewdbg/clew/unwind"
)

const noLayout = "its layout is not known, as the program has no DWARF"

// resume goes from mcall or morestack on the system stack to the goroutine that
// called it, whose state they have saved in its runtime.g. The words below on the
// system stack belong to no call. The state is the caller's as long as the scheduler
// has not been called and the instruction before its PC is a call of this very
// function; else the goroutine is not running any more, and the stack ends here.
func (g *goFrame) resume() goWay {
	saved, name := g.thread.Saved, g.fn.Name
	switch {
	case g.way != leaves || g.leftKnown && !g.left && !g.calledItself():
		return goWay{} // morestack has saved the state before it calls anything
	case !g.leftKnown:
		return truncated("%s leaves the goroutine's stack, and the goroutine's state is in runtime.g: %s", name, noLayout)
	case g.scheduled || saved != nil && saved.G == 0:
		return goWay{ends: name + ": the scheduler's stack begins here, the goroutine that called it was left"}
	case saved == nil:
		return truncated("%s has left the goroutine's stack, and the goroutine's state is in runtime.g: %s", name, noLayout)
	}
	if reason := g.savedByOther(saved); reason != "" {
		return truncated("%s has left the goroutine's stack, and the goroutine's state is unknown: %s", name, reason)
	}
	*g.step = unwind.Step{Caller: saved.Registers, CallerKind: unwind.KindReturn, Trust: unwind.TrustCFI, Rule: "cfa=g.sched.sp; ra=g.sched.pc; fp=g.sched.bp"}
	g.step.CFA, _ = saved.Registers.SP(g.target.Arch)
	// morestack was called in the prologue: f has no frame yet, and where a link
	// register holds the return address the caller's SP is that of f.
	return goWay{candidate: candidate{step: g.step, switches: true, unframed: name != "runtime.mcall"}, last: name + " has left the goroutine's stack"}
}

// savedByOther returns the reason for which the saved state is not that of the call of this
// function, "" if it is.
func (g *goFrame) savedByOther(saved *unwind.Saved) string {
	pc, ok := saved.Registers.PC(g.target.Arch)
	if !ok || pc == 0 {
		return "nothing is saved"
	}
	if callee := g.directCallee(pc); !leavesTo(callee) || !strings.HasPrefix(callee.Name, strings.TrimSuffix(g.fn.Name, ".abi0")) {
		return fmt.Sprintf("the instruction before the saved program counter %#x is no call of it", pc)
	}
	if g.target.Arch != unwind.AMD64 || g.fn.Name != "runtime.mcall" || g.frame.PC.Kind() != unwind.KindReturn {
		return ""
	}
	// mcall pushes the goroutine, as room for its callee's argument.
	if called, ok := g.word(g.sp); !ok || called != saved.G {
		return fmt.Sprintf("the thread runs the goroutine at %#x, and %#x called", saved.G, called)
	}
	return ""
}

// leavesTo reports whether a call of fn leaves the goroutine's stack.
func leavesTo(fn *place) bool {
	return fn.known && (fn.switchKind() == leaves || fn.Go && strings.HasPrefix(fn.Name, "runtime.morestack_noctxt"))
}

// enter goes from gogo, once it has set SP to the goroutine's stack, to the place
// where the goroutine resumes: no call led from there to here. gogo has already
// cleared the words of the state that it has used.
func (g *goFrame) enter() goWay {
	arch, saved, name := g.target.Arch, g.thread.Saved, g.fn.Name
	switch {
	case g.way != enters || g.leftKnown && g.left:
		return goWay{}
	case !g.leftKnown:
		return truncated("%s goes to a goroutine's stack, whose state is in runtime.g: %s", name, noLayout)
	}
	pc, okPC := saved.Registers.PC(arch)
	if was, _ := saved.Registers.SP(arch); !okPC || was != 0 && was != g.sp {
		return truncated("%s goes to a goroutine's stack, and the goroutine is unknown", name)
	}
	kind, ok := g.goesOn(pc)
	if !ok {
		return truncated("%s goes to a goroutine's stack, and where that goes on is not known", name)
	}
	*g.step = unwind.Step{CFA: g.sp, Caller: saved.Registers, CallerKind: kind, Trust: unwind.TrustCFI, Rule: "cfa=sp; ra=g.sched.pc"}
	g.step.Caller.Set(arch.SP(), g.sp)
	g.keepUnsaved()
	return goWay{candidate: candidate{step: g.step, switches: true}, last: name + " goes to a goroutine's stack"}
}

// goesOn returns the kind of the address at which a goroutine resumes. A new one,
// or one that has recovered from a panic, resumes at an instruction without a call
// before it.
func (g *goFrame) goesOn(pc uint64) (kind unwind.PCKind, ok bool) {
	if leavesTo(g.directCallee(pc)) {
		return unwind.KindReturn, true
	}
	to := g.function(unwind.InstructionAddr(pc).Lookup(g.target.Arch))
	return unwind.KindInstruction, to.known && to.switchKind() != enters
}

// keepUnsaved keeps the registers whose words in the saved state are already
// cleared.
func (g *goFrame) keepUnsaved() {
	for _, reg := range []unwind.Register{g.target.Arch.FP(), g.target.Arch.LR()} {
		if v, _ := g.step.Caller.Get(reg); reg == unwind.NoRegister || v != 0 {
			continue
		}
		g.step.Caller.Forget(reg)
		if v, ok := g.frame.Registers.Get(reg); ok {
			g.step.Caller.Set(reg, v)
		}
	}
}
