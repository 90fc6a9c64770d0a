package assembler

import (
	"bytes"
	"fmt"

	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
)

// codeRule is the rule for the caller at one instruction, from simulating the
// function's code from its start. Only this file knows how it is found.
type codeRule struct{ rule prologue.Rule }

// simulate returns the rule that code shows at pc, nil if it shows none. Go's
// assembly may call Go code, which preserves other registers than C does.
func simulate(arch unwind.Arch, callsGo bool, code []byte, start, pc uint64) *codeRule {
	run := prologue.AMD64
	switch {
	case arch == unwind.ARM64:
		run = prologue.ARM64
	case arch != unwind.AMD64:
		return nil
	case callsGo:
		run = prologue.AMD64CallingGo
	}
	rule, verdict := run(code, start, pc)
	if verdict.Kind == prologue.Unknown {
		return nil
	}
	return &codeRule{rule}
}

// certain: all paths through the code agree; otherwise the rule is likely.
func (r *codeRule) certain() bool { return r != nil && r.rule.Certain == prologue.Exact }

// certainRule returns the rule that a function's code proves, nil if there is
// none.
func (p *program) certainRule(fn Function, pc uint64) *codeRule {
	if rule := simulate(p.target.Arch, false, p.body(fn, pc), fn.Start, pc); rule.certain() {
		return rule
	}
	return nil
}

// frameRule returns the rule that the code of a frame's function shows, even one
// that is only likely; nil if it shows none. known is false without code.
func (p *program) frameRule(f *unwind.Frame) (rule *codeRule, known bool) {
	d := p.describe(f.PC.Lookup(p.target.Arch))
	if !d.simulated {
		d.simulated = true
		if d.known && !d.Go {
			code := p.body(d.Function, f.PC.Raw())
			d.code = len(code) > 0
			if d.Exact {
				d.rule = simulate(p.target.Arch, false, code, d.Start, f.PC.Raw())
			}
		}
	}
	return d.rule, d.code
}

// certainFrameRule is the same, but nil for a rule that is only likely.
func (p *program) certainFrameRule(f *unwind.Frame) *codeRule {
	if rule, _ := p.frameRule(f); rule.certain() {
		return rule
	}
	return nil
}

// base is the register that the CFA rests on.
func (r *codeRule) base() unwind.Register { return unwind.Register(r.rule.CFA.Base) }

// cfa computes the CFA; ok is false where the rule reads memory for it or the
// register is not known.
func (r *codeRule) cfa(regs *unwind.Registers) (uint64, bool) {
	base, ok := regs.Get(r.base())
	return base + uint64(r.rule.CFA.Off), ok && !r.rule.CFA.Deref
}

// returnAddress reads the return address where the rule has it.
func (r *codeRule) returnAddress(p *program, regs *unwind.Registers, cfa uint64) (uint64, bool) {
	switch r.rule.RA.Kind {
	case prologue.InReg:
		return regs.Get(unwind.Register(r.rule.RA.Reg))
	case prologue.AtCFA:
		return p.word(cfa + uint64(r.rule.RA.Off))
	}
	return 0, false
}

// framePointer reads the caller's frame pointer where the rule has it.
func (r *codeRule) framePointer(p *program, regs *unwind.Registers, cfa uint64) (uint64, bool) {
	switch r.rule.FP.Kind {
	case prologue.Same:
		return regs.FP(p.target.Arch)
	case prologue.AtCFA:
		return p.word(cfa + uint64(r.rule.FP.Off))
	}
	return 0, false
}

// equation writes the rule for the CFA and the return address.
func (r *codeRule) equation(arch unwind.Arch) string {
	return fmt.Sprintf("cfa=%s%+d; ra=[cfa%+d]", arch.RegisterName(r.base()), r.rule.CFA.Off, r.rule.RA.Off)
}

// raOffset is the return address's offset from the CFA.
func (r *codeRule) raOffset() (int64, bool) { return r.rule.RA.Off, r.rule.RA.Kind == prologue.AtCFA }

// restoreFP sets the caller's frame pointer by the rule, and returns the
// notation of its place; ok is false if it is unknown.
func (r *codeRule) restoreFP(t *Target, step *unwind.Step, regs *unwind.Registers) (where string, ok bool) {
	switch r.rule.FP.Kind {
	case prologue.Same:
		v, ok := regs.FP(t.Arch)
		if ok {
			step.Caller.Set(t.Arch.FP(), v)
		}
		return fpUnchanged, ok
	case prologue.AtCFA:
		return fmt.Sprintf("[cfa%+d]", r.rule.FP.Off), t.restore(step, t.Arch.FP(), r.rule.FP)
	}
	return "", false
}

// restoreSaved sets the registers that the frame has saved.
func (r *codeRule) restoreSaved(t *Target, step *unwind.Step) {
	for _, s := range r.rule.Saved[:r.rule.N] {
		t.restore(step, unwind.Register(s.Reg), s.Loc)
	}
}

// restore reads a register that a frame saved at a distance from its CFA.
func (t *Target) restore(step *unwind.Step, reg unwind.Register, at prologue.Loc) bool {
	if at.Kind != prologue.AtCFA {
		return false
	}
	v, err := t.word(step.CFA + uint64(at.Off))
	if err != nil {
		return false
	}
	step.Caller.Set(reg, v)
	return true
}

// byFrame reports whether the rule finds the caller by an established frame
// pointer.
func (r *codeRule) byFrame() bool {
	return r.rule.CFA == prologue.Expr{Base: prologue.RBP, Off: 16} && r.rule.FP == prologue.Loc{Kind: prologue.AtCFA, Off: -16}
}

const (
	functionAlign       = 16 // of gcc and clang on amd64, when they optimise
	maxPrologueDistance = 16 << 10
	maxPrologues        = 64 // to simulate: bytes of any kind may look like one
	pushRBP             = 0x55
	// codeBehind is the amount of code to simulate behind a frame's place, in bytes,
	// where the end of its function is unknown.
	codeBehind = 256
)

var (
	endbr64 = []byte{0xf3, 0x0f, 0x1e, 0xfa}
	framed  = []byte{pushRBP, 0x48, 0x89, 0xe5} // push %rbp; mov %rsp,%rbp
)

// prologueRule looks before pc for a prologue that sets up a frame pointer, on an
// address where compilers let functions begin, or anywhere where its two
// instructions follow each other, and returns the rule that the code from there has
// at pc, nil if none leads there. Only the nearest that does so counts: before it
// lie other functions, whose code does not lead here.
func (p *program) prologueRule(pc uint64) *codeRule {
	if p.target.Arch != unwind.AMD64 {
		return nil
	}
	rule, known := p.prologues[pc]
	if !known {
		rule = p.findPrologue(pc)
		p.prologues[pc] = rule
	}
	return rule
}

func (p *program) findPrologue(pc uint64) *codeRule {
	low, code := p.codeBefore(pc)
	for i, tried := min(int(pc-low), len(code)-1), 0; i >= 0 && tried < maxPrologues; i-- {
		at := low + uint64(i)
		if !beginsFrame(code[i:], at) {
			continue
		}
		tried++
		if rule := p.certainRule(Function{Start: at, End: pc + codeBehind, Exact: true}, pc); rule != nil && rule.byFrame() {
			return rule
		}
	}
	return nil
}

// beginsFrame reports whether code at an address looks like such a prologue.
func beginsFrame(code []byte, at uint64) bool {
	if at%functionAlign != 0 {
		return bytes.HasPrefix(code, framed)
	}
	code = bytes.TrimPrefix(code, endbr64)
	return len(code) > 0 && code[0] == pushRBP
}

// codeBefore returns up to maxPrologueDistance bytes of code before pc and a few
// behind, and their start: in the first page from which on all code is known.
func (p *program) codeBefore(pc uint64) (low uint64, code []byte) {
	if pc < unwind.LowestCode || pc > ^uint64(0)-pageSize {
		return pc, nil
	}
	for low = pc - min(pc, maxPrologueDistance); low < pc; low = low&^(pageSize-1) + pageSize {
		code = p.code(low, int(pc-low)+len(endbr64)+1)
		if uint64(len(code)) >= pc-low {
			return low, code
		}
	}
	return pc, nil
}
