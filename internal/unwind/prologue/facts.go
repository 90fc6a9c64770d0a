package prologue

// What comparisons prove: the bound of a jump table's index.

// limit says which way of a conditional branch proves a bound of the number that
// was compared before.
type limit uint8

const (
	noLimit    limit = iota
	nextUpTo         // the next instruction: up to the operand (ja)
	takenUpTo        // the target: up to the operand (jbe)
	nextBelow        // the next instruction: below the operand (jae)
	takenBelow       // the target: below the operand (jb)
)

// bound is an upper bound of a register, or of the memory at a register's offset.
type bound struct {
	max, off     int32
	reg          uint8
	index, scale uint8 // of memory; scale 0: there is no index
	bits         uint8 // of the number that was compared; 0: no bound
}

// facts are known within a block.
type facts struct {
	compared bound // the operand of the last comparison, of a register
	stored   bound // the same, of memory
	at       bound // proven of memory
	moved    bool  // a value that rules are about has changed
}

// changed forgets what rests on a register's old value.
func (f *facts) changed(r uint8) {
	for _, b := range [...]*bound{&f.compared, &f.stored, &f.at} {
		if b.bits != 0 && (b.reg == r || b.scale != 0 && b.index == r) {
			*b = bound{}
		}
	}
}

// copied is a register's value for a copy of it by instruction id: an unknown one
// gets an identity, by which a bound of the one becomes that of the other.
func (s *state) copied(r uint8, id int32) val {
	v := s.get(r)
	if v.kind != top || r >= numRegs || r == regTmp {
		return v
	}
	v = s.fresh(id, 64)
	s.regs[r] = v
	return v
}

// fresh is an unknown number of so many bits that instruction id makes.
func (s *state) fresh(id int32, bits uint8) val {
	for i := range s.regs {
		if s.regs[i].kind == same && s.regs[i].off == id+1 { // from the time before, in a loop
			s.regs[i] = val{}
		}
	}
	return val{kind: same, off: id + 1, reg: bits}
}

// widen is what two values have in common.
func (v val) widen(o val) val {
	x, ok := v.few()
	y, too := o.few()
	limit, bits := max(x.off, y.off), min(x.reg, y.reg)
	if !ok || !too || bits < 32 && limit>>bits != 0 {
		return val{}
	}
	return val{kind: upTo, off: limit, reg: bits}
}

// few is the bound of a number of a few bits.
func (v val) few() (val, bool) {
	switch {
	case v.kind == upTo:
		return v, true
	case v.kind == same && v.reg <= 16:
		return val{kind: upTo, off: 1<<v.reg - 1, reg: 64}, true
	case v.kind == konst && v.off >= 0:
		return val{kind: upTo, off: v.off, reg: 64}, true
	}
	return val{}, false
}

// extended is the low bits of a number, as a number of 64 bits.
func (v val) extended(bits uint8, signed bool) val {
	switch {
	case v.kind == konst && bits >= 32 && (v.off >= 0 || signed):
		return v
	case v.kind == konst && bits < 32 && !signed:
		v.off &= 1<<bits - 1
		return v
	case v.kind == entryOf:
		return v.extendedEntry(bits, signed)
	case v.kind != upTo || v.reg < bits:
	case v.reg > bits && bits < 32 && v.off>>bits != 0, signed && bits < 64 && int64(v.off) >= 1<<(bits-1):
	default:
		v.reg = 64
		return v
	}
	return val{}
}

// extendedEntry is the same for an entry of a jump table, which is extended already.
func (v val) extendedEntry(bits uint8, signed bool) val {
	switch size := v.reg &^ zeroExtended * 8; {
	case bits < size, bits > size && bits < 64 && v.reg&zeroExtended == 0 && !signed:
		return val{}
	case bits == size && signed:
		v.reg &^= zeroExtended
	case bits == size:
		v.reg |= zeroExtended
	}
	return v
}

// proved applies what a branch proves of the number compared before. next: the
// branch was not taken.
func (s *state) proved(l limit, next bool) {
	if l == noLimit || (l == nextUpTo || l == nextBelow) != next {
		return
	}
	limited := func(b bound) (bound, bool) {
		if l == nextBelow || l == takenBelow {
			b.max--
		}
		return b, b.bits != 0 && b.max >= 0
	}
	if b, ok := limited(s.facts.compared); ok {
		v, was := val{kind: upTo, off: b.max, reg: b.bits}, s.get(b.reg)
		if was.kind == same && was.reg <= b.bits || was.kind == upTo && was.reg == 64 && int64(was.off)>>b.bits == 0 {
			v.reg = 64
		}
		for i := range s.regs {
			if s.regs[i] == was && was.kind == same || i == int(b.reg) && (was.kind == top || was.kind == upTo) {
				s.regs[i] = v
			}
		}
	}
	if b, ok := limited(s.facts.stored); ok {
		s.facts.at = b
	}
}

// applyTable applies the operations that matter for jump tables only.
func (s *state) applyTable(p *program, o *op, id int32) {
	a := p.a
	switch o.kind {
	case opPlace:
		s.set(a, o.d, val{kind: place}.plus(o.imm))
	case opExtend:
		s.set(a, o.d, s.extend(o, id))
	case opMask:
		s.set(a, o.d, masked(o.imm))
	case opScale:
		s.set(a, o.d, s.get(o.s).times(uint8(o.imm)))
	case opLoadAt:
		s.set(a, o.d, s.loaded(p, o, id))
	case opAddEntry:
		s.set(a, o.d, switches{p}.aimed(s.get(o.s), s.get(o.t).extended(uint8(o.mask), o.mask&signExtends != 0), uint8(o.imm)))
	case opHarden:
		v := s.get(o.d)
		if v.kind != aim {
			v = s.get(o.s)
		}
		if v.kind != aim {
			v = val{}
		}
		s.set(a, o.d, v)
	case opCompare:
		if o.imm >= 0 && o.imm <= maxEntries {
			s.facts.compared = bound{max: int32(o.imm), reg: o.s, bits: o.t}
		}
	case opCompareAt:
		if limit := int64(o.mask >> limitShift); limit <= maxEntries {
			s.facts.stored = o.place(int32(limit))
		}
	}
}

// extend is the value of an [opExtend].
func (s *state) extend(o *op, id int32) val {
	v := s.copied(o.s, id)
	if v.kind == same && o.mask == 0 && o.t == 32 { // what is compared has 32 bits as a rule
		return v
	}
	if v = v.extended(o.t, o.mask != 0); v.kind == top && o.t < 32 && o.mask == 0 {
		return s.fresh(id, o.t)
	}
	return v
}

// masked is a number of which a mask has left bits.
func masked(mask int64) val {
	if mask < 0 || mask >= maxEntries {
		return val{}
	}
	return val{kind: upTo, off: int32(mask), reg: 64}
}

// times is an index times the size of entries.
func (v val) times(size uint8) val {
	if v.kind != upTo || v.reg < 32 {
		return val{}
	}
	return val{kind: scaled, off: v.off, reg: size}
}

// loaded is the value of an [opLoadAt].
func (s *state) loaded(p *program, o *op, id int32) val {
	v, signed := switches{p}.tableEntry(s, o), o.mask&signExtends != 0
	if b := s.facts.at; v.kind == top && b.bits != 0 && b == o.place(b.max) {
		v = val{kind: upTo, off: b.max, reg: b.bits}.extended(b.bits, signed)
	}
	if bits := uint8(o.mask>>sizeShift) * 8; v.kind == top && bits < 64 && !signed {
		return s.fresh(id, bits)
	}
	return v
}

// Parts of the mask of an operation on memory, besides the scale in the lowest bits (0: no
// index) and the size in bytes.
const (
	sizeShift   = 8
	signExtends = 1 << 16
	limitShift  = 32
)

// place is the bound of the memory that an operation is about.
func (o *op) place(limit int32) bound {
	b := bound{max: limit, off: int32(o.imm), reg: o.s, scale: uint8(o.mask), bits: uint8(o.mask>>sizeShift) * 8}
	if b.scale != 0 {
		b.index = o.t
	}
	return b
}
