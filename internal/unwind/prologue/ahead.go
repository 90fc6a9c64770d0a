package prologue

import (
	"slices"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// Code of which nothing says where its functions begin is followed the other way: from a frame's place on to the
// return, with the values that its registers and its stack hold. All ways have to lead to one return address.

// Bounds of what is followed for one frame: instructions, places that jumps lead to, words of the stack that are written.
const (
	maxAhead  = 20_000
	maxPlaces = 1_000
	maxCells  = 600
)

// Stopped is a frame, with what [Ahead] reads.
type Stopped struct {
	Arch      unwind.Arch
	Registers *unwind.Registers
	PC        uint64
	// Waits: the frame waits in a call, which returns to PC; what the call may have changed is not known.
	Waits bool
	// Code returns up to n original bytes of code, Word a word of memory.
	Code func(addr uint64, n int) []byte
	Word func(addr uint64) (uint64, bool)
	// Comes tells whether a call comes back, as in [Surroundings]; nil if nothing is known.
	Comes func(target uint64, pointer bool) Back
	// Budget is the number of instructions that may be followed, for several frames; what was followed is subtracted.
	Budget *int
}

// Reasons for which code shows no way to its return.
const (
	reasonFar       = "the code goes on for too long"
	reasonHeights   = "its ways lead to returns at different places of the stack"
	reasonMeet      = "its ways meet with the stack pointer at different places"
	reasonNoReturn  = "no way leads to a return"
	reasonSP        = "the stack pointer was changed by an unknown amount"
	reasonUndecoded = "an instruction on the way could not be decoded"
	reasonWritten   = "too much of the stack is written on the way"
)

// Ahead follows code from a frame's place on to its return, and returns the rule by which this very frame is left; the
// grade is [Proven] if all ways lead to one return, over branches and calls that come back. It is [Some] if there are
// calls on the way that may not come back, or ways that nothing shows the end of. It is [Guessed] if there is no return, but
// jumps to somewhere, all with the stack pointer at one place: they may leave the function.
func Ahead(f *Stopped) (r rule.Rule, proof Proof, reason string) {
	a := archOf(f.Arch)
	if a == nil {
		return r, Unproven, "code of " + f.Arch.String() + " is not simulated"
	}
	w := &aheadWalk{Stopped: f, a: a, left: min(maxAhead, *f.Budget), places: make(map[uint64]*values), proof: Proven}
	before := w.left
	defer func() { *f.Budget -= before - w.left }()
	if !w.begin() {
		return r, Unproven, reasonSP
	}
	for len(w.hard) > 0 || w.exit == nil && len(w.soft) > 0 {
		if len(w.hard) == 0 {
			w.hard, w.soft, w.proof = w.soft, nil, Some
		}
		next := w.hard[len(w.hard)-1]
		w.hard = w.hard[:len(w.hard)-1]
		if reason = w.follow(next); reason == "" {
			continue
		}
		if reason != reasonFar && reason != reasonUndecoded {
			return r, Unproven, reason
		}
		w.proof = Some
	}
	if w.exit == nil && reason == "" && w.jumped != nil && len(slices.Compact(w.jumps)) == 1 {
		w.exit, w.exitSP, w.proof = w.jumped, w.jumps[0], Guessed
	}
	switch {
	case w.exit == nil && reason == "":
		return r, Unproven, reasonNoReturn
	case w.exit == nil:
		return r, Unproven, reason
	}
	for _, sp := range w.jumps { // out of the code: a tail call, or within it
		if sp != w.exitSP {
			w.proof = min(w.proof, Some)
		}
	}
	r, ok := w.rule()
	if !ok {
		return r, Unproven, reasonRA
	}
	return r, w.proof, ""
}

// held is a value, with where the frame has it: in a register, or in memory.
type held struct {
	v    uint64
	is   bool
	from origin
	at   uint64
}

type origin uint8

const (
	computed origin = iota
	inRegister
	inMemory
)

// cell is a word of the stack that was written since.
type cell struct {
	at uint64
	v  held
}

// values are the registers and the written words of the stack, sorted.
type values struct {
	regs  [numRegs]held
	cells []cell
	used  uint64 // what calls may have written lies below
}

type visitAhead struct {
	at uint64
	v  *values
}

type aheadWalk struct {
	*Stopped
	a          *arch
	decoder    program
	left       int
	places     map[uint64]*values // where jumps lead
	hard, soft []visitAhead       // to be followed; soft: behind calls that may not come back
	jumps      []uint64           // stack pointers at jumps whose targets are not known
	jumped     *values            // what these have in common
	exit       *values            // at the returns
	exitSP     uint64
	proof      Proof
}

// begin queues the frame's place.
func (w *aheadWalk) begin() bool {
	v := new(values)
	for i := range v.regs[:regTmp] {
		reg := w.a.dwarf(uint8(i))
		if word, ok := w.Registers.Get(unwind.Register(reg)); ok && (!w.a.wide || i != 31) {
			v.regs[i] = held{v: word, is: true, from: inRegister, at: uint64(reg)}
		}
	}
	sp, ok := w.Registers.SP(w.Arch)
	v.regs[w.a.sp] = held{v: sp, is: true}
	if w.Waits {
		w.clobber(v, w.a.callerSaved)
		v.used = sp
	}
	w.hard = append(w.hard, visitAhead{w.PC, v})
	return ok
}

func (w *aheadWalk) clobber(v *values, mask uint64) {
	for i := range v.regs[:min(numRegs, 64)] {
		if mask>>i&1 != 0 {
			v.regs[i] = held{}
		}
	}
}

// follow follows one way to its end, and queues where it branches. It returns the reason for which it shows nothing, ""
// if it does.
func (w *aheadWalk) follow(from visitAhead) string {
	at, v := from.at, from.v
	for {
		if w.left--; w.left < 0 {
			return reasonFar
		}
		in := w.decode(at)
		for _, o := range w.decoder.ops[in.ops : in.ops+int32(in.nops)] {
			if !w.apply(v, &o) {
				return reasonWritten
			}
		}
		sp := v.regs[w.a.sp]
		if !sp.is {
			return reasonSP
		}
		next := at + uint64(in.len)
		target := at + uint64(in.dest)
		switch in.flow {
		case flowNext:
		case flowSoft: // a system call, or a breakpoint, which compilers put where nothing goes on
			if in.flags&flagPad == 0 {
				w.soft = append(w.soft, visitAhead{next, v})
			}
			return ""
		case flowCall:
			switch w.comes(&in, target) {
			case ComesNot:
				return ""
			case Comes:
			default:
				w.soft = append(w.soft, visitAhead{next, v})
				return ""
			}
		case flowCond:
			if reason := w.arrive(target, v); reason != "" {
				return reason
			}
		case flowJump:
			if in.refers == refersCode && w.comes(&in, target) == Leaves {
				return w.returns(v)
			}
			if in.refers != refersCode { // over the loop of a retpoline
				target = at + uint64(in.target)
			}
			return w.arrive(target, v)
		case flowRet:
			return w.returns(v)
		case flowIndirect:
			w.jumps = append(w.jumps, sp.v)
			if w.jumped == nil {
				w.jumped = v
			} else {
				w.jumped.join(v)
			}
			return ""
		case flowStop:
			return ""
		default:
			return reasonUndecoded
		}
		if w.places[next] != nil { // ways meet
			return w.arrive(next, v)
		}
		at = next
	}
}

// decode decodes the instruction at an address. Of a retpoline what lies around it counts.
func (w *aheadWalk) decode(at uint64) inst {
	const before, behind = 4, 64
	code, off := w.Code(at-before, before+behind), int32(before)
	if len(code) <= before {
		code, off = w.Code(at, behind), 0
	}
	d := &w.decoder
	d.a, d.code, d.ops = w.a, code, d.ops[:0]
	if int(off) >= len(code) {
		return inst{flow: flowBad, len: 1}
	}
	in := w.a.decode(d, off)
	in.ops, in.nops = 0, uint8(len(d.ops))
	in.dest, in.target = in.dest-int64(off), in.target-off
	return in
}

func (w *aheadWalk) comes(in *inst, target uint64) Back {
	if w.Comes == nil || in.refers == refersNone {
		return Perhaps
	}
	return w.Comes(target, in.refers == refersPointer)
}

// arrive queues a place that a jump leads to, with what all ways there have in common.
func (w *aheadWalk) arrive(at uint64, v *values) string {
	have := w.places[at]
	if have == nil {
		if len(w.places) == maxPlaces {
			return reasonFar
		}
		w.places[at] = v.clone()
		w.hard = append(w.hard, visitAhead{at, v.clone()})
		return ""
	}
	if have.regs[w.a.sp].v != v.regs[w.a.sp].v {
		return reasonMeet
	}
	if have.join(v) {
		w.hard = append(w.hard, visitAhead{at, have.clone()})
	}
	return ""
}

// returns notes a return.
func (w *aheadWalk) returns(v *values) string {
	sp := v.regs[w.a.sp].v
	switch {
	case w.exit == nil:
		w.exit, w.exitSP = v.clone(), sp
	case sp != w.exitSP:
		return reasonHeights
	default:
		w.exit.join(v)
	}
	return ""
}

func (v *values) clone() *values {
	c := *v
	c.cells = slices.Clone(v.cells)
	return &c
}

// join keeps what two ways have in common, and reports whether anything was lost.
func (v *values) join(o *values) (lost bool) {
	for i := range v.regs {
		if v.regs[i].is && v.regs[i] != o.regs[i] {
			v.regs[i], lost = held{}, true
		}
	}
	v.used, lost = max(v.used, o.used), lost || v.used < o.used
	for i := range v.cells {
		c := &v.cells[i]
		if other, ok := o.cell(c.at); c.v.is && (!ok || other != c.v) {
			c.v, lost = held{}, true
		}
	}
	for _, c := range o.cells {
		if _, ok := v.cell(c.at); !ok {
			v.write(c.at, held{})
			lost = true
		}
	}
	return lost
}

func (v *values) find(at uint64) (int, bool) {
	return slices.BinarySearchFunc(v.cells, at, func(c cell, at uint64) int {
		switch {
		case c.at < at:
			return -1
		case c.at > at:
			return 1
		}
		return 0
	})
}

func (v *values) cell(at uint64) (held, bool) {
	i, ok := v.find(at)
	if !ok {
		return held{}, false
	}
	return v.cells[i].v, true
}

func (v *values) write(at uint64, word held) {
	i, ok := v.find(at)
	if !ok {
		v.cells = slices.Insert(v.cells, i, cell{at: at})
	}
	v.cells[i].v = word
}

// get is the value of a register.
func (v *values) get(r uint8) held {
	if r < numRegs {
		return v.regs[r]
	}
	return held{}
}

// plus adds to a value.
func (k held) plus(n uint64) held {
	if !k.is || n == 0 {
		return k
	}
	return held{v: k.v + n, is: true}
}

func (k held) with(o held, f func(x, y uint64) uint64) held {
	if !k.is || !o.is {
		return held{}
	}
	return held{v: f(k.v, o.v), is: true}
}

// apply applies an operation; false if too much is written.
func (w *aheadWalk) apply(v *values, o *op) bool {
	s, t, result := v.get(o.s), v.get(o.t), held{}
	switch o.kind {
	case opClobber:
		w.clobber(v, o.mask)
		return true
	case opCall:
		w.clobber(v, w.a.callerSaved&^o.mask)
		v.calls(v.regs[w.a.sp].v)
		return true
	case opStore:
		return v.store(s.plus(uint64(o.imm)), 8, t)
	case opWipe:
		return v.store(s.plus(uint64(o.imm)), uint64(o.t), held{})
	case opCompare, opCompareAt, opSign:
		return true
	case opMov:
		result = s
	case opAdd:
		result = s.plus(uint64(o.imm))
	case opAddReg:
		result = s.with(t, func(x, y uint64) uint64 { return x + y })
	case opSubReg:
		result = s.with(t, func(x, y uint64) uint64 { return x - y })
	case opConst:
		result = held{v: uint64(o.imm), is: true}
	case opKeep:
		if d := v.get(o.d); d.is {
			result = held{v: d.v&^(0xffff<<o.t) | uint64(o.imm)<<o.t, is: true}
		}
	case opBase:
		sp := &v.regs[w.a.sp]
		*sp = held{v: sp.v & uint64(o.imm), is: sp.is && o.imm < 0} // and n,%rsp
		return true
	case opMask:
		if d := v.get(o.d); d.is && o.imm >= 0 { // a negative one may have 32 bits
			result = held{v: d.v & uint64(o.imm), is: true}
		}
	case opLoad:
		result = w.load(v, s.plus(uint64(o.imm)))
	}
	if o.d < numRegs { // of other operations the result is not known
		v.regs[o.d] = result
	}
	return true
}

// store writes bytes to an address.
func (v *values) store(addr held, size uint64, word held) bool {
	if !addr.is {
		return true
	}
	if addr.v%8 == 0 && size == 8 {
		v.write(addr.v, word)
		return len(v.cells) <= maxCells
	}
	for at := addr.v &^ 7; at < addr.v+size; at += 8 {
		v.write(at, held{})
	}
	return len(v.cells) <= maxCells
}

// calls forgets what a call may have written.
func (v *values) calls(sp uint64) {
	v.used = max(v.used, sp)
	for i := range v.cells {
		if v.cells[i].at < sp {
			v.cells[i].v = held{}
		}
	}
}

// load reads a word.
func (w *aheadWalk) load(v *values, addr held) held {
	if !addr.is || addr.v%8 != 0 {
		return held{}
	}
	if word, ok := v.cell(addr.v); ok || addr.v < v.used {
		return word
	}
	word, ok := w.Word(addr.v)
	return held{v: word, is: ok, from: inMemory, at: addr.v}
}

// rule is the one that the returns show.
func (w *aheadWalk) rule() (r rule.Rule, ok bool) {
	sp, _ := w.Registers.SP(w.Arch)
	cfa := w.exitSP
	r = rule.Rule{Arch: w.Arch}
	if w.a.wide {
		r.RA = w.exit.regs[w.a.ra].value(w.a.ra, cfa)
	} else {
		cfa += 8
		ra := w.load(w.exit, held{v: w.exitSP, is: true})
		r.RA = ra.value(w.a.ra, cfa)
	}
	r.CFA = rule.In(w.Arch.SP(), int64(cfa-sp))
	r.FP = w.exit.regs[w.a.fp].value(w.a.fp, cfa)
	for _, reg := range w.a.saved {
		r.Saved = append(r.Saved, rule.Saved{Register: unwind.Register(reg), Value: w.exit.regs[w.a.idx(reg)].value(reg, cfa)})
	}
	return r, cfa >= sp && r.RA.From != rule.Lost
}

// value says where the frame has a value that a register holds in the caller.
func (k held) value(in Reg, cfa uint64) rule.Value {
	switch {
	case !k.is:
	case k.from == inRegister && k.at == uint64(in):
		return rule.Value{From: rule.Same}
	case k.from == inRegister:
		return rule.In(unwind.Register(k.at), 0)
	case k.from == inMemory:
		return rule.AtCFA(int64(k.at - cfa))
	}
	return rule.Value{}
}
