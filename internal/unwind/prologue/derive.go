package prologue

import "errors"

// Reading a rule off the state at the PC.

const (
	reasonRange    = "PC outside the code given"
	reasonLarge    = "function too large to analyse"
	reasonBoundary = "PC not at an instruction that is reached or decodes"
	reasonNoPath   = "code reached by indirect jumps only, and their state is not known"
	reasonAmbig    = "code reached by indirect jumps only, and more than one state is possible"
	reasonCFA      = "paths disagree on the stack pointer, or it was changed by an unknown amount, and no register finds the CFA"
	reasonAlien    = "a callee-saved register is used before it is set: the start is not a function's entry point"
	reasonRA       = "the return address was overwritten or lost"
)

func analyse(a *arch, code []byte, start, pc uint64, body Expr) (Rule, Verdict) {
	r, v, again := analyseOnce(a, code, start, pc, body, false)
	if again {
		// The PC follows a call that does not return: look at unreached code as well.
		r, v, _ = analyseOnce(a, code, start, pc, body, true)
	}
	return r, v
}

func analyseOnce(a *arch, code []byte, start, pc uint64, body Expr, all bool) (Rule, Verdict, bool) {
	if pc < start || pc-start >= uint64(len(code)) {
		return Rule{}, Verdict{Reason: reasonRange}, false
	}
	off := int32(-1)
	if d := pc - start; d < maxCode {
		off = int32(d)
	}
	if off < 0 {
		return Rule{}, Verdict{Reason: reasonLarge}, false
	}
	if len(code) > maxCode {
		code = code[:maxCode]
	}
	p := newProgram(a, code, start)
	p.discover(0)
	direct := !p.full && p.index[off] != 0 && !all
	var heads []int32
	if !direct {
		heads, p.sealed = p.gaps(), true
	}
	if p.full {
		return Rule{}, Verdict{Reason: reasonLarge}, false
	}
	if p.index[off] == 0 {
		return Rule{}, Verdict{Reason: reasonBoundary}, false
	}
	p.markLeaders()
	p.lead(off)
	p.cut = make([]bool, len(p.insts)+len(heads))
	first := a.entered(code)
	p.lead(0)
	p.solve([]seed{{off: 0, s: &first}})
	if p.full {
		return Rule{}, Verdict{Reason: reasonLarge}, false
	}
	here := &p.insts[p.index[off]-1]
	if here.flow == flowBad {
		return Rule{}, Verdict{Reason: reasonBoundary}, false
	}
	if p.alien() {
		return Rule{}, Verdict{Reason: reasonAlien}, false
	}
	if here.st >= 0 {
		certain := Exact
		if p.bad {
			certain = Likely
		}
		r, err := p.derive(&p.states[here.st], certain)
		if err != nil {
			return Rule{}, Verdict{Reason: err.Error()}, false
		}
		return r, Verdict{Kind: p.classify(off, &p.states[here.st])}, false
	}
	if direct {
		return Rule{}, Verdict{}, true
	}
	r, v := p.indirect(off, p.afterCuts(heads), body)
	return r, v, false
}

func newProgram(a *arch, code []byte, start uint64) *program {
	guess := min(len(code)/4+8, 4096)
	return &program{
		a: a, code: code, start: start,
		insts: make([]inst, 0, guess),
		ops:   make([]op, 0, guess),
		index: make([]int32, len(code)),
	}
}

// derive makes the rule that a state stands for.
func (p *program) derive(s *state, certain Certainty) (Rule, error) {
	a := p.a
	r := Rule{Certain: certain, Signed: s.signed}
	cfa, ok := a.cfa(s)
	if !ok {
		return Rule{}, errors.New(reasonCFA)
	}
	r.CFA = cfa
	r.RA = a.find(s, a.ra)
	if r.RA.Kind == Lost || r.RA.Kind == Same && !a.wide {
		return Rule{}, errors.New(reasonRA)
	}
	if r.RA.Kind == Same {
		r.RA = Loc{Kind: InReg, Reg: a.ra}
	}
	r.FP = a.find(s, a.fp)
	for _, reg := range a.saved {
		if l := a.find(s, reg); l.Kind != Same {
			r.Saved[r.N] = Saved{reg, l}
			r.N++
		}
	}
	return r, nil
}

// cfa finds an expression for the CFA: by the frame pointer, by the stack pointer, by another register, or by a copy
// of it in a realigned frame (gcc's dynamic realign argument pointer). A register that a call may change comes last:
// it finds no frame that waits.
func (a *arch) cfa(s *state) (e Expr, ok bool) {
	for _, r := range [2]Reg{a.fp, a.sp} {
		if v := s.regs[r]; v.kind == cfaRel {
			return Expr{Base: r, Off: -int64(v.off)}, true
		}
	}
	for i, v := range s.regs[:regTmp] {
		if v.kind != cfaRel {
			continue
		}
		r := a.dwarf(uint8(i))
		if e, ok = (Expr{Base: r, Off: -int64(v.off)}), true; a.callerSaved>>r&1 == 0 {
			return e, true
		}
	}
	for _, x := range s.slots[:s.n] {
		if x.v.kind != cfaRel || x.addr.kind != dynRel {
			continue
		}
		if base, off, known := a.dynAddr(s, x.addr); known {
			return Expr{Base: base, Off: off, Deref: true, Add: -int64(x.v.off)}, true
		}
	}
	return e, ok
}

// dynAddr expresses an address relative to the dynamic base by a register.
func (a *arch) dynAddr(s *state, v val) (Reg, int64, bool) {
	for _, r := range [2]Reg{a.fp, a.sp} {
		if b := s.regs[r]; b.kind == dynRel {
			return r, int64(v.off) - int64(b.off), true
		}
	}
	return 0, 0, false
}

// find locates the value that register r had at the entry. A saved copy is preferred to the register itself: where
// both are good, unknown paths (a jump table's) may join that changed the register.
func (a *arch) find(s *state, r Reg) Loc {
	want := val{kind: entry, reg: a.idx(r)}
	sp, here := s.regs[a.sp], s.regs[a.idx(r)] == want
	var copied Loc
	for i := s.n - 1; i >= 0; i-- { // the highest: a lower copy is a spill, of a slot that others may reuse
		x := s.slots[i]
		if x.v != want || here && x.addr.kind == sp.kind && x.addr.off < sp.off {
			continue
		}
		if x.addr.kind == cfaRel {
			return Loc{Kind: AtCFA, Off: int64(x.addr.off)}
		}
		if base, off, ok := a.dynAddr(s, x.addr); ok && copied.Kind == Lost {
			copied = Loc{Kind: AtReg, Reg: base, Off: off}
		}
	}
	if copied.Kind != Lost {
		return copied
	}
	if here {
		return Loc{Kind: Same}
	}
	for i, v := range s.regs[:regTmp] {
		if v == want {
			return Loc{Kind: InReg, Reg: a.dwarf(uint8(i))}
		}
	}
	return Loc{}
}

// classify names the place of off in the function.
func (p *program) classify(off int32, s *state) Kind {
	if inPrologue(p, off) {
		return Prologue
	}
	if inEpilogue(p, off) {
		return Epilogue
	}
	fp := s.regs[p.a.fp]
	if fp.rel() && s.load(fp) == (val{kind: entry, reg: uint8(p.a.fp)}) && s.load(fp.plus(8)) == (val{kind: entry, reg: uint8(p.a.ra)}) {
		return Body
	}
	return BodyNoFP
}

// inPrologue: no branch between the entry and off, and an instruction that builds the frame at off or after it, before
// any branch.
func inPrologue(p *program, off int32) bool {
	seen := false
	for at := int32(0); int(at) < len(p.code) && p.index[at] != 0; {
		in := &p.insts[p.index[at]-1]
		seen = seen || at == off
		if seen && (in.flags&flagBuild != 0 || at == 0) {
			return true
		}
		if in.flow != flowNext {
			return false
		}
		at += int32(in.len)
	}
	return false
}

// inEpilogue: only instructions that take the frame down are left before a return or a jump out of the function.
func inEpilogue(p *program, off int32) bool {
	for at := off; int(at) < len(p.code) && p.index[at] != 0; {
		in := &p.insts[p.index[at]-1]
		switch {
		case in.flow == flowRet:
			return true
		case in.flow == flowIndirect || in.flow == flowJump && in.target < 0:
			return at != off
		case in.flow != flowNext || in.flags&flagTear == 0:
			return false
		}
		at += int32(in.len)
	}
	return false
}
