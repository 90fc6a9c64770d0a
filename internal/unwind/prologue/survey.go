package prologue

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"
	"sync"

	"github.com/clewdbg/clew/unwind"
)

// Proof says how well a rule is proven.
type Proof uint8

// The grades, from low to high.
const (
	// Unproven: there is no rule.
	Unproven Proof = iota
	// Guessed: the code is reached by ways that nothing shows, or some of it cannot be
	// decoded.
	Guessed
	// Some: all paths that are known agree, but each is behind a call that may not come
	// back.
	Some
	// Proven: all known paths agree, and one has only branches, jump tables with a bound
	// and calls that come back.
	Proven
)

func (p Proof) String() string { return [...]string{"unproven", "guessed", "some", "proven"}[p] }

// Row is the rule from Start on, up to the next row.
type Row struct {
	Start uint32 // offset in the function
	Proof Proof
	Rule  int32 // its number, -1 for none
	// Height is how far the stack pointer is below the CFA, in bytes; -1 if that is
	// known at run time only.
	Height int32
}

// Table holds the rules of a function's instructions, from one simulation.
type Table struct {
	Rows  []Row
	Rules []Rule
	Jumps []uint64 // where code outside is gone on with, sorted: tail calls, parts that were moved away, what lies behind
	// Leaving are the states with which jumps out lead to places that are no functions:
	// those of a function's entry are left out.
	Leaving map[uint64]*State
	// Tails are where jumps inside the code lead with all as at the entry, once a frame was
	// taken down: another function may begin there.
	Tails []uint64
	// Calls are where calls through registers lead, as the code itself has computed it (-mcmodel=large).
	Calls []uint64
	bits  bitset // where instructions begin
	ends  bitset // where calls end
	// Whole: all of the code that is reached was decoded, and no jump leads to places
	// that are not known.
	Whole bool
	// Broken: a return is not to the caller, or more is popped than was pushed: the code is
	// no function's.
	Broken bool
}

// bitset is a set of offsets.
type bitset []uint64

func newBitset(size int) bitset { return make(bitset, size/64+1) }

func (b bitset) set(off int32) { b[off/64] |= 1 << (off % 64) }

func (b bitset) has(off uint64) bool { return off/64 < uint64(len(b)) && b[off/64]>>(off%64)&1 != 0 }

// Call returns where the call begins that returns to an offset; ok is false where no call
// ends there that is reached.
func (t *Table) Call(ra uint64) (off uint64, ok bool) {
	if !t.ends.has(ra) {
		return 0, false
	}
	for off = ra - 1; !t.bits.has(off); off-- {
		if off == 0 || ra-off > maxInstruction {
			return 0, false
		}
	}
	return off, true
}

// AtCall is the rule at a call, for a frame that waits in it, without what the call may
// have changed; ok is false if it does not find the frame.
func (r *Rule) AtCall(arch unwind.Arch) (kept Rule, ok bool) {
	kept, verdict := archOf(arch).called(*r, Verdict{})
	return kept, verdict.Reason == ""
}

// At returns the row at an offset; nil if no instruction that is reached begins there.
func (t *Table) At(off uint64) *Row {
	if !t.bits.has(off) {
		return nil
	}
	i := sort.Search(len(t.Rows), func(i int) bool { return uint64(t.Rows[i].Start) > off }) - 1
	if i < 0 {
		return nil
	}
	return &t.Rows[i]
}

// Each calls yield for the offset of each instruction that is reached.
func (t *Table) Each(yield func(off uint64)) {
	for i, word := range t.bits {
		for ; word != 0; word &= word - 1 {
			yield(uint64(i*64 + bits.TrailingZeros64(word)))
		}
	}
}

// Size is roughly how many bytes the table takes.
func (t *Table) Size() int {
	return len(t.Rows)*16 + len(t.Rules)*600 + len(t.Jumps)*8 + len(t.Leaving)*900 + len(t.bits)*16 + 128
}

// State is what is known where a jump enters a part of a function that was moved away.
type State struct{ s state }

// Join keeps what two ways to the same place have in common; ok is false where they do not
// find the same frame.
func (x *State) Join(arch unwind.Arch, y *State) (out *State, ok bool) {
	joined := *x
	joined.s.join(&y.s)
	_, ok = archOf(arch).cfa(&joined.s)
	return &joined, ok
}

// archOf is nil for architectures whose code is not simulated.
func archOf(of unwind.Arch) *arch {
	switch of {
	case unwind.AMD64:
		return &amd64Arch
	case unwind.ARM64:
		return &arm64Arch
	}
	return nil
}

// Survey simulates a function once, and returns the rules at all instructions that are
// reached without a guess; nil if there are none. code holds the function's original
// bytes from its start on, up to its end. from is nil, but for a part that was moved away.
func Survey(arch unwind.Arch, code []byte, start uint64, around Surroundings, from *State) *Table {
	a := archOf(arch)
	if a == nil {
		return nil
	}
	if len(code) > maxCode || len(code) == 0 {
		return nil
	}
	p := programs.Get().(*program)
	defer release(p)
	p.reset(a, code, start)
	p.around = around
	p.discover(0)
	p.land()
	if p.full || p.index[0] == 0 {
		return nil
	}
	p.markLeaders()
	p.lead(0)
	for _, pad := range p.pads {
		p.lead(pad.At)
	}
	p.cut = append(p.cut, make([]bool, len(p.insts))...)
	first := a.entered(code)
	if from != nil {
		first = from.s
	}
	p.solve([]seed{{off: 0, s: &first}})
	if p.full {
		return nil
	}
	p.bad = p.bad && survey{p}.meetsBad()
	t, alien := survey{p}.rows()
	if alien && from == nil {
		return nil
	}
	return t
}

// land decodes landing pads.
func (p *program) land() {
	if p.around == nil {
		return
	}
	p.pads = p.around.Pads(p.start)
	for _, pad := range p.pads {
		if pad.At > 0 && int(pad.At) < len(p.code) {
			p.discover(pad.At)
		}
	}
}

// throws passes the state behind a call on to where it goes on if it throws: a callee's frame
// is gone then, as after a return.
func (p *program) throws(in *inst, s *state, by edge) {
	end := in.off + int32(in.len)
	for _, pad := range p.pads {
		if end > pad.Start && end <= pad.End {
			thrown := *s
			p.arrive(pad.At, &thrown, edge{origin: by.origin, soft: true})
		}
	}
}

// survey makes the table of a program that was simulated.
type survey struct{ *program }

// programs are used again: what one takes is much beside the table that it leaves.
var programs = sync.Pool{New: func() any { return new(program) }}

// reset makes a program new, in the memory that it has.
func (p *program) reset(a *arch, code []byte, start uint64) {
	index := append(p.index[:0], make([]int32, len(code))...)
	*p = program{
		a: a, code: code, start: start, index: index, insts: p.insts[:0], ops: p.ops[:0], cut: p.cut[:0],
		states: p.states[:0], meta: p.meta[:0], queue: p.queue[:0], rowsOf: p.rowsOf[:0], rules: p.rules[:0],
	}
}

// release gives a program's memory back, if that is not large.
func release(p *program) {
	const keeps = 64 << 10
	if p.code, p.around = nil, nil; cap(p.index) <= keeps {
		programs.Put(p)
	}
}

// meetsBad reports whether a path leads to what cannot be decoded. Behind a call that does not
// come back there may be data (Mach-O's jump tables).
func (p survey) meetsBad() (found bool) {
	p.walk(func(in *inst, _ *state) { found = found || in.flow == flowBad }, nil)
	return found
}

// surveyed is one instruction's rule, while a table is made.
type surveyed struct {
	off    int32
	rule   int32
	height int32
	by     Proof
}

// rows makes the table of a program that was simulated; alien is as in [program.alien].
func (p survey) rows() (t *Table, alien bool) {
	t = &Table{Rules: p.rules, bits: newBitset(len(p.code)), ends: newBitset(len(p.code)), Whole: !p.bad}
	var known map[Rule]int32 // nil until there are many
	all := p.rowsOf
	last := surveyed{rule: -1}
	fresh := true   // the last rule is not this instruction's
	var by Proof    // of the place in the block
	framed := false // where the block begins
	p.walk(func(in *inst, s *state) {
		if alien = alien || p.usesUnset(in, s); in.flow == flowBad {
			return
		}
		t.bits.set(in.off)
		if in.flow == flowCall {
			t.ends.set(in.off + int32(in.len))
			if to, ok := switches(p).address(s.get(in.cmpA)); ok {
				t.Calls = append(t.Calls, to)
			}
		}
		if in.st >= 0 {
			by, fresh, framed = p.proof(in.st), true, !p.a.isEntry(s)
		}
		if fresh {
			last.rule, last.height = p.ruleOf(t, &known, s), p.height(s)
		}
		last.off, last.by = in.off, by
		all = append(all, last)
		t.Broken = t.Broken || p.breaks(in, s)
		s.facts.moved = false // until the instruction has moved what rules are about
		if p.soft(in) {
			by = min(by, Some)
		}
	}, func(in *inst, s *state) {
		fresh = s.facts.moved
		p.leaves(t, in, s, framed)
	})
	p.rowsOf, p.rules = all, t.Rules[:0]
	t.Rules = slices.Clone(t.Rules)
	t.fill(all)
	slices.Sort(t.Jumps)
	t.Jumps = slices.Compact(t.Jumps)
	return t, alien
}

// height is how far the stack pointer is below the CFA, -1 if that is not known.
func (p survey) height(s *state) int32 {
	if sp := s.regs[p.a.sp]; sp.kind == cfaRel {
		return -sp.off
	}
	return -1
}

// breaks reports whether an instruction is as in no function: see [Table].
func (p survey) breaks(in *inst, s *state) bool {
	sp := s.regs[p.a.sp]
	return sp.kind == cfaRel && sp.off > max(p.a.entrySP, 0) || in.flow == flowRet && s.badReturn(p.a)
}

// fill makes the table's rows, one for instructions with the same rule.
func (t *Table) fill(all []surveyed) {
	slices.SortFunc(all, func(a, b surveyed) int { return cmp.Compare(a.off, b.off) })
	for i, x := range all {
		if i == 0 || x.rule != all[i-1].rule || x.by != all[i-1].by || x.height != all[i-1].height {
			t.Rows = append(t.Rows, Row{Start: uint32(x.off), Proof: x.by, Rule: x.rule, Height: x.height})
		}
	}
}

func (p survey) proof(block int32) Proof {
	switch {
	case p.bad:
		return Guessed
	case p.meta[block].sure:
		return Proven
	}
	return Some
}

// ruleOf returns the number of a state's rule, -1 if it has none.
func (p survey) ruleOf(t *Table, known *map[Rule]int32, s *state) int32 {
	rule, err := p.derive(s, Exact)
	if err != nil {
		return -1
	}
	const near = 16 // of the last rules this is mostly one
	for n := len(t.Rules) - 1; n >= max(0, len(t.Rules)-near); n-- {
		if t.Rules[n] == rule {
			return int32(n)
		}
	}
	if len(t.Rules) >= near && *known == nil {
		*known = make(map[Rule]int32)
		for n, r := range t.Rules {
			(*known)[r] = int32(n)
		}
	}
	n, ok := (*known)[rule]
	if !ok {
		n = int32(len(t.Rules))
		t.Rules = append(t.Rules, rule)
		if *known != nil {
			(*known)[rule] = n
		}
	}
	return n
}

// leaves notes where an instruction leads outside of the code.
func (p survey) leaves(t *Table, in *inst, s *state, framed bool) {
	if next := in.off + int32(in.len); in.flow <= flowCond && int(next) >= len(p.code) && !p.ends(in) {
		p.leave(t, p.start+uint64(next), s, false)
	}
	switch {
	case in.flow == flowIndirect:
		p.leavesIndirectly(t, s)
	case in.target > 0 && in.flow == flowJump && framed && p.a.isEntry(s):
		t.Tails = append(t.Tails, p.start+uint64(in.target))
	case in.target >= 0 || in.refers != refersCode:
	case in.flow != flowCall:
		p.leave(t, p.start+uint64(in.dest), s, in.flow == flowCond)
	}
}

// leavesIndirectly notes where a jump through a register leads outside of the code.
func (p survey) leavesIndirectly(t *Table, s *state) {
	v := s.regs[regTmp]
	if v.kind == place && uint64(v.off) >= uint64(len(p.code)) { // a veneer
		p.leave(t, p.start+uint64(v.off), s, false)
		return
	}
	if _, ok := switches(p).targets(s); !ok {
		t.Whole = false
	}
	if v.kind == aim {
		for _, to := range p.out[v.off] {
			p.leave(t, to, s, false)
		}
	}
}

// maxLeaving bounds the states that a table keeps. A conditional jump to a place that is not
// aligned leads to a part that was moved away, though nothing was pushed yet.
const (
	maxLeaving    = 256
	functionAlign = 16
)

// leave notes one place.
func (p survey) leave(t *Table, to uint64, s *state, conditional bool) {
	t.Jumps = append(t.Jumps, to)
	if (!conditional || to%functionAlign == 0) && p.a.isEntry(s) || len(t.Leaving) >= maxLeaving {
		return
	}
	out := s.carried()
	if t.Leaving == nil {
		t.Leaving = make(map[uint64]*State)
	}
	if known := t.Leaving[to]; known != nil {
		known.s.join(&out)
		return
	}
	t.Leaving[to] = &State{out}
}

// isEntry reports whether a state has all that a function's entry has.
func (a *arch) isEntry(s *state) bool {
	first := a.initial()
	for _, r := range a.saved {
		if i := a.idx(r); s.regs[i] != first.regs[i] {
			return false
		}
	}
	return s.regs[a.sp] == first.regs[a.sp] && s.regs[a.fp] == first.regs[a.fp] && (!a.wide || s.regs[a.ra] == first.regs[a.ra])
}

// carried is a state for other code: without what counts from this code's start.
func (s *state) carried() state {
	out := *s
	out.facts, out.regs[regTmp] = facts{}, val{}
	for i, v := range out.regs {
		if v.kind > konst {
			out.regs[i] = val{}
		}
	}
	if out.dyn != 0 {
		out.dyn = -1
	}
	return out
}
