package prologue

// Forward data flow over a function's control-flow graph.

// Bounds of one analysis. A function beyond them gets verdict Unknown; they keep the worst case (hostile bytes) at a
// few tens of megabytes and some tens of milliseconds.
const (
	maxCode   = 1 << 20
	maxInsts  = 200_000
	maxStates = 16_384
	maxVisits = 2_000_000 // instructions simulated, over all rounds
	maxRounds = 16        // restarts after cutting edges
)

// meta goes with a kept state. origin is the soft edge (instruction or seed number plus one) that the path took last,
// 0 if none or if paths differ.
type meta struct {
	origin int32
	inst   int32
	soft   bool // entered by soft edges only
	sure   bool // some path from a sure start has no soft edge
	fixed  bool // settled by an earlier pass
	queued bool
}

// program is one function under analysis.
type program struct {
	a      *arch
	around Surroundings
	start  uint64
	tables []jumpTable
	leads  [][]int32  // where they lead, as offsets
	out    [][]uint64 // where they lead outside of the code
	pads   []Pad
	labels []int32 // where jumps by no table may lead; nil before that is asked
	code   []byte
	insts  []inst
	ops    []op
	index  []int32 // code offset -> instruction number + 1
	cut    []bool  // soft edge out of instruction does not exist
	states []state
	meta   []meta
	queue  []int32
	rowsOf []surveyed // the table in the making
	rules  []Rule     // of it
	walked state      // at the instruction of a walk
	dirty  bool       // an edge was cut in this round
	final  bool       // last round: no more cuts
	sealed bool       // all code is decoded
	at     int32      // the offset of the instruction to decode
	amd64  effectsAMD64
	bad    bool // an instruction on some path could not be decoded
	visits int
	full   bool // some bound was hit
}

func (p *program) emit(o ...op) { p.ops = append(p.ops, o...) }

// discover decodes everything that direct branches reach from off.
func (p *program) discover(off int32) {
	work := []int32{off}
	for len(work) > 0 {
		at := work[len(work)-1]
		work = work[:len(work)-1]
		for int(at) < len(p.code) && p.index[at] == 0 {
			if len(p.insts) == maxInsts {
				p.full = true
				return
			}
			n := int32(len(p.ops))
			in := p.a.decode(p, at)
			in.off, in.ops, in.st, in.nops = at, n, -1, uint8(int32(len(p.ops))-n)
			if in.target < 0 || int(in.target) >= len(p.code) {
				in.target = -1
			}
			p.insts = append(p.insts, in)
			p.index[at] = int32(len(p.insts))
			next := at + int32(in.len)
			switch in.flow {
			case flowCond, flowJump:
				if in.target >= 0 {
					work = append(work, in.target)
				}
			case flowCall:
				if in.target > 0 && in.target != next {
					work = append(work, in.target)
				}
			case flowBad:
				p.bad = true
			}
			if in.flow > flowCond {
				break
			}
			at = next
		}
	}
}

// lead marks the instruction at off as one whose state is kept.
func (p *program) lead(off int32) {
	if off >= 0 && int(off) < len(p.index) && p.index[off] != 0 {
		p.insts[p.index[off]-1].flags |= flagLeader
	}
}

func (p *program) markLeaders() {
	for i := range p.insts {
		if p.insts[i].target >= 0 {
			p.lead(p.insts[i].target)
		}
	}
}

// seed is a state known from the outside at an instruction.
type seed struct {
	off  int32
	s    *state
	weak bool // may be cut; its origin is its number in cut, past the instructions
	cut  int32
}

// solve runs to a fixed point, cutting soft edges that contradict and starting again. States kept before (fixed) stay.
func (p *program) solve(seeds []seed) {
	fixed := len(p.states)
	for round := 0; round < maxRounds && !p.full; round++ {
		for i := fixed; i < len(p.meta); i++ {
			p.insts[p.meta[i].inst].st = -1
		}
		p.states, p.meta, p.queue = p.states[:fixed], p.meta[:fixed], p.queue[:0]
		p.dirty, p.final = false, round == maxRounds-1
		for _, sd := range seeds {
			switch {
			case !sd.weak:
				p.arrive(sd.off, sd.s, edge{sure: true})
			case !p.cut[sd.cut]:
				p.arrive(sd.off, sd.s, edge{origin: sd.cut + 1, soft: true})
			}
		}
		for len(p.queue) > 0 && !p.full {
			k := p.queue[len(p.queue)-1]
			p.queue = p.queue[:len(p.queue)-1]
			p.meta[k].queued = false
			p.block(k)
		}
		if !p.dirty {
			return
		}
	}
}

func (p *program) cutEdge(origin int32) bool {
	if origin == 0 || p.final {
		return false
	}
	if !p.cut[origin-1] {
		p.cut[origin-1] = true
		p.dirty = true
	}
	return true
}

// edge is the way to a leader: origin, soft and sure as in [meta].
type edge struct {
	origin     int32
	soft, sure bool
}

// arrive brings a state along an edge to the leader at off.
func (p *program) arrive(off int32, s *state, by edge) {
	origin, soft := by.origin, by.soft
	s.facts, s.regs[regTmp] = facts{}, val{}
	if int(off) >= len(p.index) || p.index[off] == 0 {
		return
	}
	n := p.index[off] - 1
	in := &p.insts[n]
	if in.st < 0 {
		if len(p.states) == maxStates {
			p.full = true
			return
		}
		in.st = int32(len(p.states))
		p.states = append(p.states, *s)
		p.meta = append(p.meta, meta{origin: origin, inst: n, soft: soft, sure: by.sure, queued: true})
		p.queue = append(p.queue, in.st)
		return
	}
	p.visits += 16 // the cost of a join, in instructions
	m, have := &p.meta[in.st], &p.states[in.st]
	if m.fixed {
		if have.contradicts(s, p.a) || have.fpDiffers(s, p.a) {
			p.cutEdge(origin)
		}
		return
	}
	if have.contradicts(s, p.a) && m.origin != origin {
		switch {
		case soft && !m.soft:
			if p.cutEdge(origin) {
				return
			}
		case !soft && m.soft:
			if p.cutEdge(m.origin) {
				return
			}
		default:
			a, b := p.cutEdge(origin), p.cutEdge(m.origin)
			if a || b {
				return
			}
		}
	}
	if soft != m.soft && have.loses(s, p.a) {
		p.visits += 64
		// Compiled code keeps every callee-saved register somewhere at every point: the soft edge does not exist.
		if soft && p.cutEdge(origin) || !soft && p.cutEdge(m.origin) {
			return
		}
	}
	m.soft = m.soft && soft
	if m.origin != origin {
		m.origin = 0
	}
	surer := by.sure && !m.sure
	m.sure = m.sure || by.sure
	if (have.join(s) || surer) && !m.queued {
		m.queued = true
		p.queue = append(p.queue, in.st)
	}
}

// fpDiffers reports that both know the frame pointer, and not the same.
func (s *state) fpDiffers(o *state, a *arch) bool {
	f, g := s.regs[a.fp], o.regs[a.fp]
	known := func(v val) bool { return v.kind == entry || v.rel() }
	return known(f) && known(g) && f != g
}

// block simulates from a leader to the end of its block.
func (p *program) block(k int32) {
	s, m := p.states[k], p.meta[k]
	n, by := m.inst, edge{origin: m.origin, sure: m.sure}
	cmp := [2]uint8{regNone, regNone}
	for {
		in := &p.insts[n]
		if p.visits++; p.visits > maxVisits {
			p.full = true
			return
		}
		p.step(in, &s)
		next, goesOn := in.off+int32(in.len), false
		if by, goesOn = p.pass(n, &s, by, cmp); !goesOn {
			return
		}
		cmp = [2]uint8{in.cmpA, in.cmpB}
		if int(next) >= len(p.code) || p.index[next] == 0 {
			return
		}
		n = p.index[next] - 1
		if p.insts[n].flags&flagLeader != 0 {
			p.arrive(next, &s, by)
			return
		}
	}
}

// pass passes a state on where an instruction leads by other ways than to the next one, and
// returns the edge to that; goesOn is false if there is none.
func (p *program) pass(n int32, s *state, by edge, cmp [2]uint8) (next edge, goesOn bool) {
	in := &p.insts[n]
	by.soft = false
	switch in.flow {
	case flowNext:
		return by, true
	case flowSoft, flowCall:
		p.throws(in, s, by)
		return p.passCall(n, in, by)
	case flowCond:
		return by, p.passBranch(in, s, by, cmp)
	case flowJump:
		if in.target >= 0 {
			p.arrive(in.target, s, by)
			return by, false
		}
		if p.back(in) != Leaves {
			return by, false
		}
	case flowRet:
	case flowIndirect:
		p.passIndirect(n, s, by)
		return by, false
	default:
		return by, false
	}
	if s.badReturn(p.a) {
		p.cutEdge(by.origin)
	}
	return by, false
}

// passIndirect passes a state on to where a jump may lead. What is not proven to be all of that may be refuted.
func (p *program) passIndirect(n int32, s *state, by edge) {
	targets, proven := switches{p}.targets(s)
	if !proven {
		by.sure = false
		if by.origin == 0 {
			by = edge{origin: n + 1, soft: true}
		}
	}
	for _, to := range targets {
		if taken := *s; !p.cut[n] {
			p.arrive(to, &taken, by)
		}
	}
}

func (p *program) passCall(n int32, in *inst, by edge) (next edge, goesOn bool) {
	if in.flow == flowCall && in.target > 0 && in.target != in.off+int32(in.len) {
		// A local subroutine: a separate function, called with this one as its caller.
		sub := p.a.initial()
		p.arrive(in.target, &sub, edge{sure: by.sure})
	}
	if p.cut[n] || p.ends(in) {
		return by, false
	}
	if p.soft(in) {
		by = edge{origin: n + 1, soft: true}
	}
	return by, true
}

// passBranch reports whether the branch may not be taken.
func (p *program) passBranch(in *inst, s *state, by edge, cmp [2]uint8) bool {
	if in.target >= 0 {
		taken := *s
		taken.proved(in.limits, false)
		if in.flags&flagEqTaken == 0 || taken.equal(p.a, cmp) {
			p.arrive(in.target, &taken, by)
		}
	}
	s.proved(in.limits, true)
	return in.flags&flagEqNext == 0 || s.equal(p.a, cmp)
}

// step applies an instruction to a state.
func (p *program) step(in *inst, s *state) {
	if !in.keeps {
		s.facts.compared, s.facts.stored = bound{}, bound{}
	}
	s.apply(p, p.ops[in.ops:in.ops+int32(in.nops)], in.off)
}

// back tells whether a call comes back, or whether a jump out of the code is a return.
func (p *program) back(in *inst) Back {
	if p.around == nil || in.refers == refersNone {
		return Perhaps
	}
	if in.back == 0 {
		in.back = uint8(p.around.Comes(p.start+uint64(in.dest), in.refers == refersPointer)) + 1
	}
	return Back(in.back - 1)
}

// soft reports whether the instruction behind this one may not be reached from it. Behind a call
// before padding, or before an address that functions are aligned to, another function may
// begin: compilers know more of what comes back than the code shows.
func (p *program) soft(in *inst) bool {
	return in.flow == flowSoft || in.flow == flowCall && (p.back(in) != Comes || p.mayEnd(in.off+int32(in.len)))
}

// mayEnd reports whether a function may end before an offset.
func (p *program) mayEnd(off int32) bool {
	if int(off) >= len(p.code) || p.index[off] == 0 {
		return false
	}
	return (p.start+uint64(off))%functionAlign == 0 || p.insts[p.index[off]-1].flags&flagPad != 0
}

// ends reports whether a call does not come back.
func (p *program) ends(in *inst) bool { return in.flow == flowCall && p.back(in) == ComesNot }

// equal applies a branch taken on equality to the stack pointer, and reports whether it can be taken.
func (s *state) equal(a *arch, cmp [2]uint8) bool {
	x, y := cmp[0], cmp[1]
	if y == uint8(a.sp) {
		x, y = y, x
	}
	u, v := s.get(x), s.get(y)
	if x != uint8(a.sp) || !v.rel() {
		return true
	}
	if u.kind == v.kind && u != v {
		return false
	}
	s.regs[x] = v
	return true
}

// badReturn reports that a return here would not go to the caller.
func (s *state) badReturn(a *arch) bool {
	sp, fp := s.regs[a.sp], s.regs[a.fp]
	return sp.kind == cfaRel && sp.off != a.entrySP || fp.rel()
}

// walk calls before and after (either may be nil) for every instruction reached, with the settled state there.
func (p *program) walk(before, after func(in *inst, s *state)) {
	s := &p.walked // callbacks keep it from the stack
	for k := range p.states {
		*s = p.states[k]
		for n := p.meta[k].inst; ; {
			in := &p.insts[n]
			if before != nil {
				before(in, s)
			}
			p.step(in, s)
			if after != nil {
				after(in, s)
			}
			if in.flow == flowCond {
				s.proved(in.limits, true)
			}
			next := in.off + int32(in.len)
			if in.flow > flowCond || p.cut[n] || p.ends(in) || int(next) >= len(p.code) || p.index[next] == 0 {
				break
			}
			n = p.index[next] - 1
			if p.insts[n].flags&flagLeader != 0 {
				break
			}
		}
	}
}

// alien reports that the code uses a register as no function entered by a call can.
func (p *program) alien() bool {
	found := false
	p.walk(func(in *inst, s *state) { found = found || p.usesUnset(in, s) }, nil)
	return found
}

// usesUnset reports that an instruction addresses memory by a register that still has what the caller had in it,
// though no convention passes anything there.
func (p *program) usesUnset(in *inst, s *state) bool {
	r := in.base
	return r < numRegs && p.a.private>>r&1 != 0 && s.regs[r] == val{kind: entry, reg: r}
}
