package cfi

import "github.com/clewdbg/clew/unwind"

// Instructions of call-frame programs (DWARF 5, 7.24; the vendors' ones from
// binutils' dwarf2.def). Those with an operand in their low six bits are
// distinguished by the two high ones.
const (
	opAdvanceLoc = 0x40
	opOffset     = 0x80
	opRestore    = 0xc0

	opNop            = 0x00
	opSetLoc         = 0x01
	opAdvanceLoc1    = 0x02
	opAdvanceLoc2    = 0x03
	opAdvanceLoc4    = 0x04
	opOffsetExtended = 0x05
	opRestoreExt     = 0x06
	opUndefined      = 0x07
	opSameValue      = 0x08
	opRegister       = 0x09
	opRemember       = 0x0a
	opRestoreState   = 0x0b
	opDefCFA         = 0x0c
	opDefCFARegister = 0x0d
	opDefCFAOffset   = 0x0e
	opDefCFAExpr     = 0x0f
	opExpression     = 0x10
	opOffsetExtSF    = 0x11
	opDefCFASF       = 0x12
	opDefCFAOffsetSF = 0x13
	opValOffset      = 0x14
	opValOffsetSF    = 0x15
	opValExpression  = 0x16

	opAdvanceLoc8     = 0x1d // MIPS
	opNegateRAWithPC  = 0x2c // Arm
	opNegateRAState   = 0x2d // Arm; elsewhere SPARC's register windows
	opGNUArgsSize     = 0x2e
	opGNUNegOffsetExt = 0x2f
)

const (
	// maxRemembered bounds the depth of remembered states. Compilers nest them a
	// few deep.
	maxRemembered = 64
	// maxProgram bounds a program's size in bytes. Programs of 100 KiB exist, for
	// functions of megabytes.
	maxProgram = 1 << 20
	// maxOpening bounds the size of a CIE's instructions. It takes a dozen.
	maxOpening = 1 << 10
)

// machine executes call-frame programs.
type machine struct {
	t          *Table
	cie        *cie
	cur        state
	remembered []state
	r          reader
	loc        uint64
	opening    bool // executing a CIE's instructions
}

// runCIE executes a CIE's instructions, and keeps the resulting rules.
func (t *Table) runCIE(c *cie) *Error {
	m := machine{t: t, cie: c, opening: true}
	if err := m.run(c.instr, c.end, 0, nil); err != nil {
		return err
	}
	c.initial = m.cur.pack()
	return nil
}

// exec executes an FDE's instructions, and calls visit for every row while cur
// is that row, until it returns false. Rows behind the code's end are left out.
func (m *machine) exec(t *Table, f *FDE, visit func(start, end uint64) bool) *Error {
	if n := f.end - f.instr; n > maxProgram {
		return t.errorf(f.Offset, "FDE: %d bytes of instructions", n)
	}
	m.t, m.cie, m.remembered, m.loc = t, f.cie, m.remembered[:0], f.Start
	m.cur.unpack(&f.cie.initial)
	return m.run(f.instr, f.end, f.End, visit)
}

// run executes the instructions in [from, to) of the section.
func (m *machine) run(from, to int, limit uint64, visit func(start, end uint64) bool) *Error {
	m.r = reader{data: m.t.section.Data[:to], pos: from, big: m.t.big}
	for m.r.pos < to {
		at, next := m.r.pos, m.loc
		reason := m.step(&next)
		switch {
		case reason != "":
		case m.r.failed:
			reason = "the instruction is cut off"
		case next < m.loc:
			reason = "the location goes back"
		case next > m.loc && m.opening:
			reason = "a CIE has no locations"
		}
		if reason != "" {
			return m.t.errorf(uint64(at), "instruction %#x: %s", m.t.section.Data[at], reason)
		}
		if next = min(next, limit); next > m.loc {
			if !visit(m.loc, next) {
				return nil
			}
			m.loc = next
		}
	}
	if m.loc < limit {
		visit(m.loc, limit)
	}
	return nil
}

// step executes one instruction. A new location goes into next.
func (m *machine) step(next *uint64) (reason string) {
	r := &m.r
	op := r.byte()
	low := uint64(op & 0x3f)
	switch op & 0xc0 {
	case opAdvanceLoc:
		return m.advance(next, low)
	case opOffset:
		return m.set(low, Rule{Kind: AtCFA, Offset: m.factored(r.uleb())})
	case opRestore:
		return m.restore(low)
	}
	switch op {
	case opNop:
	case opSetLoc:
		*next, _ = m.t.pointer(r, m.cie.encoding, m.t.addrSize)
	case opAdvanceLoc1:
		return m.advance(next, r.unsigned(1))
	case opAdvanceLoc2:
		return m.advance(next, r.unsigned(2))
	case opAdvanceLoc4:
		return m.advance(next, r.unsigned(4))
	case opAdvanceLoc8:
		return m.advance(next, r.unsigned(8))
	case opOffsetExtended:
		reg := r.uleb()
		return m.set(reg, Rule{Kind: AtCFA, Offset: m.factored(r.uleb())})
	case opOffsetExtSF:
		reg := r.uleb()
		return m.set(reg, Rule{Kind: AtCFA, Offset: r.sleb() * m.cie.dataAlign})
	case opGNUNegOffsetExt:
		reg := r.uleb()
		return m.set(reg, Rule{Kind: AtCFA, Offset: -m.factored(r.uleb())})
	case opValOffset:
		reg := r.uleb()
		return m.set(reg, Rule{Kind: CFAPlus, Offset: m.factored(r.uleb())})
	case opValOffsetSF:
		reg := r.uleb()
		return m.set(reg, Rule{Kind: CFAPlus, Offset: r.sleb() * m.cie.dataAlign})
	case opRestoreExt:
		return m.restore(r.uleb())
	case opUndefined:
		return m.set(r.uleb(), Rule{Kind: Undefined})
	case opSameValue:
		return m.set(r.uleb(), Rule{Kind: SameValue})
	case opRegister:
		reg, from := r.uleb(), r.uleb()
		if _, ok := columnOf(from); !ok { // a value that is kept nowhere here
			return m.set(reg, Rule{Kind: Undefined})
		}
		return m.set(reg, Rule{Kind: InRegister, Register: unwind.Register(from)})
	case opExpression:
		reg := r.uleb()
		return m.set(reg, m.expression(AtExpression))
	case opValExpression:
		reg := r.uleb()
		return m.set(reg, m.expression(ValExpression))
	case opRemember:
		if len(m.remembered) == maxRemembered {
			return "too many states are remembered"
		}
		m.remembered = append(m.remembered, m.cur)
	case opRestoreState:
		n := len(m.remembered)
		if n == 0 {
			return "no state is remembered"
		}
		m.cur, m.remembered = m.remembered[n-1], m.remembered[:n-1]
	case opGNUArgsSize:
		r.uleb() // of arguments that are still pushed: for exceptions' landing pads only
	case opNegateRAState, opNegateRAWithPC:
		if m.t.opts.Arch != unwind.ARM64 {
			return "it is not known on this architecture"
		}
		m.cur.signed = !m.cur.signed
	default:
		return m.defCFA(op)
	}
	return ""
}

// defCFA executes the instructions that define the CFA.
func (m *machine) defCFA(op byte) (reason string) {
	r, cfa := &m.r, &m.cur.cfa
	switch op {
	case opDefCFA:
		reg := r.uleb()
		return m.setCFA(reg, int64(r.uleb()))
	case opDefCFASF:
		reg := r.uleb()
		return m.setCFA(reg, r.sleb()*m.cie.dataAlign)
	case opDefCFAExpr:
		*cfa = m.expression(ValExpression)
		return ""
	case opDefCFARegister, opDefCFAOffset, opDefCFAOffsetSF:
	default:
		return "it is not known"
	}
	// These change one part of a CFA that is a register and an offset.
	var reg uint64
	offset := cfa.Offset
	switch op {
	case opDefCFARegister:
		reg = r.uleb()
	case opDefCFAOffset:
		reg, offset = uint64(cfa.Register), int64(r.uleb())
	case opDefCFAOffsetSF:
		reg, offset = uint64(cfa.Register), r.sleb()*m.cie.dataAlign
	}
	if cfa.Kind != InRegister {
		return "the CFA is not a register and an offset"
	}
	return m.setCFA(reg, offset)
}

func (m *machine) setCFA(reg uint64, offset int64) (reason string) {
	if _, ok := columnOf(reg); !ok && !m.r.failed {
		return "the CFA's register is not known"
	}
	m.cur.cfa = Rule{Kind: InRegister, Register: unwind.Register(reg), Offset: offset}
	return ""
}

func (m *machine) advance(next *uint64, delta uint64) (reason string) {
	by := delta * m.cie.codeAlign
	if delta != 0 && by/delta != m.cie.codeAlign || *next+by < *next {
		return "the location goes beyond the address space"
	}
	*next += by
	return ""
}

func (m *machine) factored(offset uint64) int64 { return int64(offset) * m.cie.dataAlign }

// set sets the rule of a register, unless it is one that is not kept.
func (m *machine) set(reg uint64, rule Rule) (reason string) {
	if c, ok := columnOf(reg); ok {
		m.cur.rules[c] = rule
	}
	return ""
}

// restore sets a register's rule back to the CIE's.
func (m *machine) restore(reg uint64) (reason string) {
	if m.opening {
		return "a CIE has nothing to restore"
	}
	return m.set(reg, m.cie.initial.rule(unwind.Register(reg)))
}

// expression reads an expression's size and passes it.
func (m *machine) expression(kind RuleKind) Rule {
	size := m.r.uleb()
	rule := Rule{Kind: kind, size: uint32(size), Offset: int64(m.r.pos)}
	m.r.skip(size)
	return rule
}

// verify reports whether an FDE's instructions can be executed to their end.
func (t *Table) verify(m *machine, f *FDE) *Error {
	return m.exec(t, f, func(uint64, uint64) bool { return true })
}
