package prologue

// Abstract values and the machine state at one instruction.

import "slices"

type valKind uint8

const (
	top     valKind = iota // unknown
	entry                  // the value register reg had when the function was entered
	cfaRel                 // CFA + off
	dynRel                 // dynamic base + off
	konst                  // the number off
	place                  // the address off bytes from the code's start
	upTo                   // a number up to off, in the register's low reg bits
	scaled                 // a number up to off, times reg
	same                   // unknown, below 2^reg; all registers with the same off hold the same
	entryOf                // an entry of the jump table number off, extended to 64 bits; reg: its size in bytes, and whether it is unsigned
	aim                    // where an entry of the jump table number off leads
)

// val is an abstract value. Offsets beyond 32 bits are not followed: they become top.
type val struct {
	off  int32
	kind valKind
	reg  uint8
}

// ofFrame reports whether rules may be about a value.
func (v val) ofFrame() bool { return v.kind == entry || v.rel() }

func (v val) rel() bool { return v.kind == cfaRel || v.kind == dynRel }

// plus adds a constant to an address or a number.
func (v val) plus(n int64) val {
	if v.kind != cfaRel && v.kind != dynRel && v.kind != konst && v.kind != place {
		if n == 0 {
			return v
		}
		return val{}
	}
	s := int64(v.off) + n
	if n > 1<<31 || n < -(1<<31) || s != int64(int32(s)) {
		return val{}
	}
	v.off = int32(s)
	return v
}

// Register file: amd64 uses DWARF numbers 0-16 and regTmp; arm64 uses 0-31 and 32-39 for d8-d15.
const (
	numRegs  = 41
	regTmp   = 40 // for micro-operations of one instruction
	regNone  = 63 // no register: reads as top, writes are dropped
	maxSlots = 28 // tracked stack words: all callee-saved registers, the record, and a few copies
)

// slot is an 8-byte stack word that holds something worth knowing.
type slot struct {
	addr val // cfaRel or dynRel
	v    val
}

// state is the abstract machine state. Unused slots are zero, and used ones sorted by address, so that == compares.
// dyn names the instruction that made the dynamic base; there is one base at a time.
type state struct {
	regs   [numRegs]val
	slots  [maxSlots]slot
	n      int32
	dyn    int32
	signed bool
	facts  facts
}

func (s *state) get(r uint8) val {
	if r < numRegs {
		return s.regs[r]
	}
	return val{}
}

func (s *state) removeSlot(i int32) {
	s.facts.moved = true
	copy(s.slots[i:s.n], s.slots[i+1:s.n])
	s.n--
	s.slots[s.n] = slot{}
}

func less(a, b val) bool {
	if a.kind != b.kind {
		return a.kind < b.kind
	}
	return a.off < b.off
}

// store writes v (8 bytes) or unknown bytes to the stack. Stores to unknown addresses are taken to miss the slots.
func (s *state) store(addr val, size int64, v val) {
	if !addr.rel() {
		return
	}
	for i := int32(0); i < s.n; {
		o := s.slots[i].addr
		if o.kind == addr.kind && int64(o.off) < int64(addr.off)+size && int64(addr.off) < int64(o.off)+8 {
			s.removeSlot(i)
			continue
		}
		i++
	}
	computed := v.kind == place && s.n < maxSlots/2 // an address that later calls and jumps go by
	if v.kind != entry && !v.rel() && !computed || size != 8 || s.n == maxSlots {
		return
	}
	i := s.n
	for i > 0 && less(addr, s.slots[i-1].addr) {
		s.slots[i] = s.slots[i-1]
		i--
	}
	s.slots[i] = slot{addr, v}
	s.n++
	s.facts.moved = true
}

func (s *state) load(addr val) val {
	if addr.rel() {
		for _, x := range s.slots[:s.n] {
			if x.addr == addr {
				return x.v
			}
		}
	}
	return val{}
}

// dropBelow forgets stack words below an address that became the stack pointer.
func (s *state) dropBelow(sp val) {
	for i := int32(0); i < s.n; {
		a := s.slots[i].addr
		if a.kind == sp.kind && a.off < sp.off || a.kind == dynRel && sp.kind == cfaRel {
			s.removeSlot(i)
			continue
		}
		i++
	}
}

// set writes a register; a rise of the stack pointer frees the words below it.
func (s *state) set(a *arch, r uint8, v val) {
	if r >= numRegs {
		return
	}
	if r == uint8(a.sp) {
		old := s.regs[r]
		if v.kind == cfaRel && (old.kind != cfaRel || v.off > old.off) || v.kind == dynRel && old.kind == dynRel && v.off > old.off {
			s.dropBelow(v)
		}
	}
	s.facts.changed(r)
	s.facts.moved = s.facts.moved || v.ofFrame() || s.regs[r].ofFrame()
	s.regs[r] = v
}

// newBase makes the stack pointer a new dynamic base, made by instruction id. Places relative to the old base are
// forgotten, also if it is the same instruction in a loop; but a frame that is kept in another register (an alloca
// in a realigned frame) is worth more than the stack pointer.
func (s *state) newBase(a *arch, id int32) {
	s.facts.moved = true
	for r, v := range s.regs {
		if v.kind == dynRel && r != int(a.sp) && s.dyn != id+1 {
			s.regs[a.sp] = val{}
			return
		}
	}
	s.forgetBase()
	s.dyn = id + 1
	s.regs[a.sp] = val{kind: dynRel}
}

func (s *state) forgetBase() {
	if s.dyn == 0 {
		return
	}
	for i := range s.regs {
		if s.regs[i].kind == dynRel {
			s.regs[i] = val{}
		}
	}
	for i := int32(0); i < s.n; {
		if s.slots[i].addr.kind == dynRel || s.slots[i].v.kind == dynRel {
			s.removeSlot(i)
			continue
		}
		i++
	}
	s.dyn = 0
}

// join keeps the values on which two states agree, and reports whether s lost
// any.
func (s *state) join(o *state) bool {
	if *s == *o {
		return false
	}
	old := *s
	t := o
	if s.dyn != o.dyn {
		s.forgetBase()
		c := *o
		c.forgetBase()
		t = &c
	}
	for i := range s.regs {
		if s.regs[i] != t.regs[i] {
			s.regs[i] = s.regs[i].widen(t.regs[i])
		}
	}
	for i := int32(0); i < s.n; {
		if t.load(s.slots[i].addr) != s.slots[i].v {
			s.removeSlot(i)
			continue
		}
		i++
	}
	s.signed = s.signed || t.signed
	return *s != old
}

// contradicts reports whether two states cannot both be right at one instruction of compiled code: neither a common
// frame pointer nor a common stack pointer finds the CFA.
func (s *state) contradicts(o *state, a *arch) bool {
	f, g := s.regs[a.fp], o.regs[a.fp]
	if f.kind == cfaRel && f == g {
		return false
	}
	p, q := s.regs[a.sp], o.regs[a.sp]
	return p.kind == cfaRel && q.kind == cfaRel && p != q
}

// loses reports that a join would lose a callee-saved register that both states know.
func (s *state) loses(o *state, a *arch) bool {
	if *s == *o {
		return false
	}
	j := *s
	j.join(o)
	lost := func(r Reg) bool {
		return a.find(&j, r).Kind == Lost && a.find(s, r).Kind != Lost && a.find(o, r).Kind != Lost
	}
	if slices.ContainsFunc(a.saved, lost) {
		return true
	}
	return lost(a.fp)
}
