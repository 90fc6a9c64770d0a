package dwarfline

// Opcodes of line number programs (DWARF 5, sections 6.2.5.2 and 6.2.5.3).
const (
	lnsCopy           = 0x01
	lnsAdvancePC      = 0x02
	lnsAdvanceLine    = 0x03
	lnsSetFile        = 0x04
	lnsSetColumn      = 0x05
	lnsNegateStmt     = 0x06
	lnsConstAddPC     = 0x08
	lnsFixedAdvancePC = 0x09
	lnsSetPrologueEnd = 0x0a

	lneEndSequence = 0x01
	lneSetAddress  = 0x02
	lneDefineFile  = 0x03
)

// machine is the state that a line number program works on (DWARF 5, section
// 6.2.2), as far as rows have it.
type machine struct {
	minLength, maxOps   uint64
	lineBase, lineRange int64
	opcodeBase          uint64
	operands            []uint64 // of the standard opcodes, from 1

	addr, opIndex      uint64
	file, line, column uint64
	statement          bool // at first
	flags              uint8
	begin              int // where the sequence begins in the rows
	dropped            func(uint64) bool
}

// newMachine reads the part of a header that says how the program is encoded.
func newMachine(c *cursor, version int) *machine {
	m := &machine{minLength: c.u8(), maxOps: 1}
	if version >= 4 {
		m.maxOps = c.u8()
	}
	m.statement = c.u8() != 0
	m.lineBase, m.lineRange = int64(int8(c.u8())), int64(c.u8())
	m.opcodeBase = c.u8()
	if c.err == nil && (m.maxOps == 0 || m.lineRange == 0 || m.opcodeBase == 0) {
		c.fail("an invalid header of a line table")
	}
	m.operands = make([]uint64, max(m.opcodeBase, 1))
	for i := 1; i < len(m.operands); i++ {
		m.operands[i] = c.u8()
	}
	m.reset()
	return m
}

func (m *machine) reset() {
	m.addr, m.opIndex, m.file, m.line, m.column = 0, 0, 1, 1, 0
	if m.flags = 0; m.statement {
		m.flags = isStatement
	}
}

// run executes the program. The last sequence must have an end.
func (m *machine) run(c *cursor, t *lineTable) {
	for !c.done() {
		switch op := c.u8(); {
		case op >= m.opcodeBase:
			op -= m.opcodeBase
			m.advance(op / uint64(m.lineRange))
			m.line += uint64(m.lineBase + int64(op)%m.lineRange)
			t.add(c, m)
		case op == 0:
			m.extended(c, t)
		default:
			m.standard(c, t, op)
		}
	}
	if m.begin < len(t.rows) {
		c.fail("a sequence of rows without end")
	}
}

// advance moves the address by operations (DWARF 5, section 6.2.5.1).
func (m *machine) advance(ops uint64) {
	if m.maxOps == 1 {
		m.addr += m.minLength * ops
		return
	}
	at := m.opIndex + ops
	m.addr += m.minLength * (at / m.maxOps)
	m.opIndex = at % m.maxOps
}

func (m *machine) standard(c *cursor, t *lineTable, op uint64) {
	switch op {
	case lnsCopy:
		t.add(c, m)
	case lnsAdvancePC:
		m.advance(c.uleb())
	case lnsAdvanceLine:
		m.line += uint64(c.sleb())
	case lnsSetFile:
		m.file = c.uleb()
	case lnsSetColumn:
		m.column = c.uleb()
	case lnsNegateStmt:
		m.flags ^= isStatement
	case lnsSetPrologueEnd:
		m.flags |= endsPrologue
	case lnsConstAddPC:
		m.advance((255 - m.opcodeBase) / uint64(m.lineRange))
	case lnsFixedAdvancePC:
		m.addr, m.opIndex = m.addr+c.uint(2), 0
	default: // nothing that rows have
		for range m.operands[op] {
			c.uleb()
		}
	}
}

func (m *machine) extended(c *cursor, t *lineTable) {
	n := c.uleb()
	if n == 0 || n > c.end-c.off {
		c.fail("an invalid length of an opcode")
		return
	}
	next := c.off + n
	switch c.u8() {
	case lneEndSequence:
		t.close(m.begin, m.addr, m.dropped)
		m.begin = len(t.rows)
		m.reset()
	case lneSetAddress:
		m.setAddress(c, n-1)
	case lneDefineFile:
		t.addFile(c, c.text())
	}
	if c.err == nil && c.off > next {
		c.fail("an opcode that is longer than it says")
	}
	if c.err == nil {
		c.skip(next - c.off)
	}
}

func (m *machine) setAddress(c *cursor, size uint64) {
	if size != 4 && size != 8 {
		c.fail("an address of an invalid size")
		return
	}
	m.addr, m.opIndex = c.uint(int(size)), 0
}
