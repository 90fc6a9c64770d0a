package prologue

// Code that no direct branch reaches: targets of jump tables, exception landing pads, code after a call that does not
// return.

const maxCandidates = 6

// gaps decodes the bytes between the code reached so far, and returns the offsets where such pieces begin.
func (p *program) gaps() []int32 {
	var heads []int32
	for at := int32(0); int(at) < len(p.code); {
		if p.index[at] == 0 {
			known, bad := int32(len(p.insts)), p.bad
			p.discover(at)
			p.bad = bad // unreached code does not weaken the result for reached code
			if p.full {
				break
			}
			for int(at) < len(p.code) && p.index[at] > known && p.insts[p.index[at]-1].flags&flagPad != 0 {
				at += int32(p.insts[p.index[at]-1].len)
			}
			if int(at) >= len(p.code) || p.index[at] == 0 {
				continue
			}
			if p.index[at] > known && p.insts[p.index[at]-1].flow != flowBad {
				heads = append(heads, at)
			}
		}
		at += int32(p.insts[p.index[at]-1].len)
	}
	return heads
}

// afterCuts adds the code behind calls found not to return, and makes room for the heads among the edges to
// cut.
func (p *program) afterCuts(heads []int32) []int32 {
	for n := range p.insts {
		next := p.insts[n].off + int32(p.insts[n].len)
		if p.cut[n] && int(next) < len(p.code) && p.index[next] != 0 && p.insts[p.index[next]-1].st < 0 {
			heads = append(heads, next)
		}
	}
	p.cut = append(p.cut[:len(p.insts)], make([]bool, len(heads))...)
	return heads
}

// candidates are the distinct frames that code reached only by indirect jumps, or by an exception thrown from a call,
// can begin with. Frames at indirect jumps with a frame built are those of jump tables, and are taken alone if there
// are any: an exception's landing pad is entered with the same stack pointer, as arguments pushed for the call are
// popped first. An indirect jump with no frame may be a tail call; then the frames at calls count too.
func (p *program) candidates() []state {
	var tables, rest []state
	p.walk(nil, func(in *inst, s *state) {
		if in.flow != flowIndirect && in.flow != flowCall {
			return
		}
		if in.flow == flowIndirect && s.regs[p.a.sp] != (val{kind: cfaRel, off: p.a.entrySP}) {
			tables = addCandidate(tables, s, p.a)
		} else {
			rest = addCandidate(rest, s, p.a)
		}
	})
	if len(tables) > 0 {
		return tables
	}
	return rest
}

func addCandidate(out []state, c *state, a *arch) []state {
	if c.regs[a.fp].kind != cfaRel && c.regs[a.sp].kind == top {
		return out
	}
	for i := range out {
		o := &out[i]
		if o.regs[a.fp] == c.regs[a.fp] && o.dyn == c.dyn && (o.regs[a.sp] == c.regs[a.sp] || c.regs[a.fp].kind == cfaRel) {
			o.join(c)
			return out
		}
	}
	if len(out) > maxCandidates {
		return out
	}
	return append(out, *c)
}

// ofBody keeps the candidates that have the frame of the function's body, if that is known. The body is the code that
// indirect jumps lead to, so that such a candidate is no guess.
func (p *program) ofBody(cands []state, body Expr) ([]state, Certainty) {
	var kept []state
	for i := range cands {
		if e, ok := p.a.cfa(&cands[i]); ok && e == body {
			kept = append(kept, cands[i])
		}
	}
	if body == (Expr{}) || len(kept) == 0 {
		return cands, Likely
	}
	return kept, Exact
}

// indirect tries every candidate at the heads of unreached code and returns the rule at off if only one is
// possible.
func (p *program) indirect(off int32, heads []int32, body Expr) (Rule, Verdict) {
	cands, certain := p.ofBody(p.candidates(), body)
	if p.bad {
		certain = Likely
	}
	if len(cands) == 0 || len(cands) > maxCandidates {
		return Rule{}, Verdict{Reason: reasonNoPath}
	}
	for i := range p.meta {
		p.meta[i].fixed = true
	}
	fixed, base := len(p.states), append([]bool(nil), p.cut...)
	for _, h := range heads {
		p.lead(h)
	}
	here := &p.insts[p.index[off]-1]
	var rule Rule
	var kind Kind
	for i := range cands {
		for j := fixed; j < len(p.meta); j++ {
			p.insts[p.meta[j].inst].st = -1
		}
		p.states, p.meta = p.states[:fixed], p.meta[:fixed]
		copy(p.cut, base)
		seeds := make([]seed, len(heads))
		for j, h := range heads {
			seeds[j] = seed{off: h, s: &cands[i], weak: true, cut: int32(len(p.insts) + j)}
		}
		p.solve(seeds)
		if p.full {
			return Rule{}, Verdict{Reason: reasonLarge}
		}
		if here.st < 0 {
			continue // refuted
		}
		r, err := p.derive(&p.states[here.st], certain)
		if err != nil || rule.Certain != None && r != rule {
			return Rule{}, Verdict{Reason: reasonAmbig}
		}
		rule, kind = r, p.classify(off, &p.states[here.st])
	}
	if rule.Certain == None {
		return Rule{}, Verdict{Reason: reasonNoPath}
	}
	return rule, Verdict{Kind: kind}
}
