package prologue

import (
	"bytes"
	"math/bits"
)

// Micro-operations: the effects of one machine instruction on the abstract
// state.

type opKind uint8

const (
	opClobber   opKind = iota // registers of mask become unknown
	opMov                     // d = s
	opAdd                     // d = s + imm
	opAddReg                  // d = s + t
	opSubReg                  // d = s - t
	opConst                   // d = imm
	opKeep                    // d = d with the 16 bits at shift t replaced by imm (arm64 movk)
	opBase                    // SP becomes a new dynamic base; imm is the mask, if it is one
	opStore                   // [s+imm] = t, size 8
	opWipe                    // [s+imm], t bytes, become unknown
	opLoad                    // d = [s+imm]
	opCall                    // a call returned: caller-saved registers and the words below SP are gone, but for registers of mask
	opSign                    // return address signed (t=1) or authenticated (t=0)
	opPlace                   // d = the code's start + imm
	opExtend                  // d = the low t bits of s, with mask sign-extended
	opMask                    // d = d & imm
	opScale                   // d = s * imm
	opLoadAt                  // d = [s + t*scale + imm]; the scale and the like are in mask
	opAddEntry                // d = s + (t, of which mask says what bits count and how) << imm
	opHarden                  // d = d | s, where one is 0 if the code is really reached: a target of a jump table stays
	opCompare                 // s, t bits, is compared with imm
	opCompareAt               // [s + t*scale + imm] is compared with a number in mask
)

type op struct {
	mask    uint64
	imm     int64
	kind    opKind
	d, s, t uint8
}

type flowKind uint8

const (
	flowNext     flowKind = iota
	flowSoft              // next, unless the instruction does not come back (trap)
	flowCall              // as flowSoft; target is the callee if known
	flowCond              // next or target
	flowJump              // target
	flowIndirect          // unknown targets
	flowRet
	flowStop // never comes back
	flowBad  // could not be decoded
)

const (
	flagLeader   = 1 << iota // paths may meet here: the state is kept
	flagBuild                // takes part in building a frame
	flagTear                 // takes part in taking a frame down
	flagPad                  // filler between blocks
	flagEqTaken              // conditional branch, taken when equal
	flagEqNext               // conditional branch, taken when not equal
	flagRetInReg             // returns through the link register
)

// What a call or jump refers to.
const (
	refersNone uint8 = iota
	refersCode
	refersPointer // to code
)

// inst is a decoded instruction.
type inst struct {
	off    int32
	target int32 // code offset of a direct branch, -1 none or outside
	ops    int32
	st     int32 // index of the kept state, -1 none
	nops   uint8
	len    uint8
	flow   flowKind
	cmpA   uint8 // operands of a compare, regNone otherwise; cmpA is what a call goes through, too
	cmpB   uint8
	flags  uint8
	base   uint8 // base register of a memory operand that is read or written, regNone otherwise
	limits limit // what a conditional branch proves of a compared number
	keeps  bool  // the processor's flags stay as they are
	refers uint8 // what dest is
	back   uint8 // whether a call comes back, plus one once that is known
	dest   int64 // what a call or jump refers to, from the code's start on
}

// arch describes a calling convention to the analysis.
type arch struct {
	sp, fp, ra  Reg
	wide        bool // arm64
	entrySP     int32
	callerSaved uint64
	private     uint64 // callee-saved registers that no calling convention passes anything in
	saved       []Reg  // callee-saved besides the frame pointer, DWARF numbers
	decode      func(p *program, off int32) inst
}

// idx maps a DWARF number to the register file.
func (a *arch) idx(r Reg) uint8 {
	if r >= D8 && r <= D15 {
		return uint8(r-D8) + 32
	}
	return uint8(r)
}

// dwarf is the inverse of idx.
func (a *arch) dwarf(i uint8) Reg {
	if a.wide && i >= 32 {
		return Reg(i-32) + D8
	}
	return Reg(i)
}

// initial is the state at a function's entry.
func (a *arch) initial() state {
	var s state
	for _, r := range a.saved {
		i := a.idx(r)
		s.regs[i] = val{kind: entry, reg: i}
	}
	s.regs[a.fp] = val{kind: entry, reg: uint8(a.fp)}
	s.regs[a.sp] = val{kind: cfaRel, off: a.entrySP}
	ra := val{kind: entry, reg: uint8(a.ra)}
	if a.wide {
		s.regs[a.ra] = ra
	} else {
		s.store(s.regs[a.sp], 8, ra)
	}
	return s
}

// pltFirst begins the first entry of a procedure linkage table on amd64 (System
// V ABI, AMD64 supplement, "Procedure Linkage Table"): push slot(%rip).
var pltFirst = []byte{0xff, 0x35}

// entered is the state at the entry of code, which differs from every function's
// in the first entry of a procedure linkage table on amd64: the entry that jumps there has
// pushed a word. On arm64 it differs in the loader's function that the first entry jumps to:
// that has pushed a pair.
func (a *arch) entered(code []byte) state {
	s := a.initial()
	const jump = 6 // push slot(%rip); jmp *slot(%rip)
	if a.wide {
		if resolves(code) {
			s.regs[a.sp] = s.regs[a.sp].plus(-pushedPair)
			s.store(s.regs[a.sp].plus(8), 8, s.regs[a.ra])
		}
		return s
	}
	if len(code) < 2*jump || !bytes.HasPrefix(code, pltFirst) {
		return s
	}
	if rest := code[jump:]; !bytes.HasPrefix(rest, []byte{0xff, 0x25}) && !bytes.HasPrefix(rest, []byte{0xf2, 0xff, 0x25}) {
		return s
	}
	s.regs[a.sp] = s.regs[a.sp].plus(-8)
	return s
}

func (s *state) apply(p *program, ops []op, id int32) {
	a := p.a
	for i := range ops {
		o := &ops[i]
		switch o.kind {
		case opClobber:
			s.clobber(a, o.mask)
		case opMov:
			s.set(a, o.d, s.copied(o.s, id))
		case opAdd:
			s.set(a, o.d, s.get(o.s).plus(o.imm))
		case opAddReg, opSubReg:
			s.addReg(p, o, id)
		case opConst:
			s.set(a, o.d, val{kind: konst}.plus(o.imm))
		case opKeep:
			v := s.get(o.d)
			if v.kind == konst {
				n := int64(v.off)&^(0xffff<<o.t) | o.imm<<o.t
				v = val{kind: konst}.plus(n)
			} else {
				v = val{}
			}
			s.set(a, o.d, v)
		case opBase:
			s.newBase(a, id)
		case opStore:
			s.store(s.get(o.s).addr(o.imm), 8, s.get(o.t))
			s.facts.at = bound{}
		case opWipe:
			s.store(s.get(o.s).addr(o.imm), int64(o.t), val{})
			s.facts.at = bound{}
		case opLoad:
			v := s.load(s.get(o.s).addr(o.imm))
			if b := s.facts.at; v.kind == top && b.bits == 64 && b == (bound{max: b.max, off: int32(o.imm), reg: o.s, bits: 64}) {
				v = val{kind: upTo, off: b.max, reg: 64}
			}
			s.set(a, o.d, v)
		case opCall:
			s.clobber(a, a.callerSaved&^o.mask)
			s.facts = facts{moved: true}
			s.dropBelow(s.regs[a.sp])
		case opSign:
			s.signed, s.facts.moved = o.t == 1, true
		default:
			s.applyTable(p, o, id)
		}
	}
}

// clobber makes the registers of a mask unknown.
func (s *state) clobber(a *arch, mask uint64) {
	for ; mask != 0; mask &= mask - 1 {
		s.set(a, uint8(bits.TrailingZeros64(mask)), val{})
	}
}

// addr is plus for addresses only.
func (v val) addr(n int64) val {
	if !v.rel() {
		return val{}
	}
	return v.plus(n)
}

func (s *state) addReg(p *program, o *op, id int32) {
	a := p.a
	x, y := s.get(o.s), s.get(o.t)
	var v val
	switch {
	case o.kind == opAddReg && (x.kind == entryOf || y.kind == entryOf):
		if x.kind == entryOf {
			x, y = y, x
		}
		v = switches{p}.aimed(x, y, 0)
	case o.kind == opAddReg && (x.kind == aim || y.kind == aim) && p.around != nil:
		if x.kind == aim {
			x, y = y, x
		}
		v = switches{p}.aimedFar(x, y)
	case o.kind == opAddReg && y.kind == konst:
		v = x.plus(int64(y.off))
	case o.kind == opAddReg && x.kind == konst:
		v = y.plus(int64(x.off))
	case o.kind == opSubReg && y.kind == konst:
		v = x.plus(-int64(y.off))
	}
	if v.kind == top && o.d == uint8(a.sp) {
		s.newBase(a, id)
		return
	}
	s.set(a, o.d, v)
}
