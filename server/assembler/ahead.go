package assembler

import (
	"github.com/clewdbg/clew/internal/unwind/callsite"
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/internal/unwind/simulate"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// aheadBudget bounds the instructions that are followed forwards for one stack.
const aheadBudget = 400_000

// aheadRow is what code shows that was followed from one frame's place on.
type aheadRow struct {
	pc, sp uint64
	row    *simulate.Row // nil for none
	// proven: over branches and calls alone that come back; else a call has to speak for it. guessed: the code leads to
	// jumps only, which may leave the function.
	proven, guessed bool
	why             string // why there is no row
}

// ahead is the rule of a frame by the code in front of it, up to the return: where nothing tells where its function
// begins, or its frame depends on what happened before (R16). It holds for this frame alone.
func (p *program) ahead(f *unwind.Frame) *aheadRow {
	sp, known := f.Registers.SP(p.target.Arch)
	if last := &p.followed; last.why != "" && last.pc == f.PC.Raw() && last.sp == sp {
		return last
	}
	p.followed = aheadRow{pc: f.PC.Raw(), sp: sp, why: "the stack pointer is not known"}
	if !known || p.aheadLeft <= 0 || p.wild(f) {
		return &p.followed
	}
	if _, decoded := callsite.Before(p.target.Arch, nil, 0); !decoded {
		p.followed.why = "calls of this architecture are not decoded" // R17
		return &p.followed
	}
	if p.atEntry(f) {
		r := rule.Entry(p.target.Arch)
		if p.followed.why = "no call ends at the return address of a function's entry"; p.returnsToCall(&r, f) {
			p.followed.why, p.followed.row, p.followed.proven = "entry", &simulate.Row{Rule: r, Sure: true}, true
			return &p.followed
		}
	}
	stopped := prologue.Stopped{Arch: p.target.Arch, Registers: &f.Registers, PC: f.PC.Raw(), Waits: f.PC.Kind() == unwind.KindReturn,
		Code: p.code, Word: p.word, Comes: p.comes, Budget: &p.aheadLeft}
	r, proof, why := prologue.Ahead(&stopped)
	if p.followed.why = why; proof == prologue.Unproven {
		return &p.followed
	}
	if p.followed.why = "no call ends at the return address that the code leads to"; !p.returnsToCall(&r, f) {
		return &p.followed
	}
	p.followed.why = "followed"
	p.followed.guessed = proof == prologue.Guessed
	p.followed.row, p.followed.proven = &simulate.Row{Rule: r, Sure: proof == prologue.Proven}, proof == prologue.Proven
	return &p.followed
}

// atEntry reports whether a frame stands at a function's first instruction: nothing of it has run.
func (p *program) atEntry(f *unwind.Frame) bool {
	fn := p.functionOf(f)
	return f.PC.Kind() == unwind.KindInstruction && fn.known && fn.Exact && fn.Start == f.PC.Raw() && fn.Whole == 0
}

// returnsToCall reports whether a call ends at the return address that a rule finds, or may, for all that is known (R17).
func (p *program) returnsToCall(r *rule.Rule, f *unwind.Frame) bool {
	var c rule.Caller
	if p.apply(r, &f.Registers, f.PC.Kind(), &c) != nil {
		return false
	}
	ra, _ := c.Registers.PC(p.target.Arch)
	if p.target.Executable != nil && !p.target.Executable.Contains(ra-1) {
		return false
	}
	calls, known := p.callsBefore(ra)
	return len(calls) > 0 || !known || p.signalReturn(ra) || p.startsContext(ra)
}

// comes tells whether a call comes back, by the model of the image that it leads to.
func (p *program) comes(target uint64, pointer bool) prologue.Back {
	model, bias := p.target.Code.Model(unwind.LookupAddr(target))
	if model == nil {
		return prologue.Perhaps
	}
	return model.Comes(target-bias, pointer)
}

// ofGo reports whether a frame is Go's, which has tables of its own.
func (p *program) ofGo(f *unwind.Frame) bool {
	fn := p.functionOf(f)
	return fn.known && fn.Go
}
