package prologue

import "golang.org/x/arch/x86/x86asm"

// What amd64 instructions that do not branch do: a table of operations. What has no row, and operands for which a row
// has no rule, are left to otherAMD64.

// effectsAMD64 is an instruction taken apart. It lies in the program: the table's functions get a pointer to it, and
// one for each instruction would go to the heap.
type effectsAMD64 struct {
	in    x86asm.Inst
	out   inst
	r     [2]uint8 // the first two operands, where they are registers
	w     [2]int   // their widths in bits, 0 for none
	m     [2]x86asm.Mem
	isMem [2]bool
	imm   int64 // the second operand
	isImm bool
}

// operationAMD64 is a row. effects returns false where it has no rule for the operands.
type operationAMD64 struct {
	effects func(e *effectsAMD64, p *program) bool
	flags   uint8
	keeps   bool // the processor's flags
}

var (
	leavesAMD64 = operationAMD64{effects: (*effectsAMD64).nothing}
	quietAMD64  = operationAMD64{effects: (*effectsAMD64).nothing, keeps: true}
	addAMD64    = operationAMD64{effects: (*effectsAMD64).add}
	widenAMD64  = operationAMD64{effects: (*effectsAMD64).widen, keeps: true}
)

// operationsAMD64 are indexed by the instruction's operation.
var operationsAMD64 = [firstVEX]operationAMD64{
	x86asm.NOP:         {effects: (*effectsAMD64).nothing, flags: flagPad, keeps: true},
	x86asm.CMP:         {effects: (*effectsAMD64).compare},
	x86asm.TEST:        leavesAMD64,
	x86asm.BT:          leavesAMD64,
	x86asm.PAUSE:       leavesAMD64,
	x86asm.LFENCE:      leavesAMD64,
	x86asm.MFENCE:      leavesAMD64,
	x86asm.CLFLUSH:     leavesAMD64,
	x86asm.SFENCE:      quietAMD64,
	x86asm.PREFETCHNTA: quietAMD64,
	x86asm.PREFETCHT0:  quietAMD64,
	x86asm.PREFETCHT1:  quietAMD64,
	x86asm.PREFETCHT2:  quietAMD64,
	x86asm.PREFETCHW:   quietAMD64,
	x86asm.PUSH:        {effects: (*effectsAMD64).push, flags: flagBuild, keeps: true},
	x86asm.POP:         {effects: (*effectsAMD64).pop, flags: flagTear, keeps: true},
	x86asm.PUSHF:       {effects: (*effectsAMD64).pushFlags},
	x86asm.PUSHFQ:      {effects: (*effectsAMD64).pushFlags},
	x86asm.POPF:        {effects: (*effectsAMD64).popFlags},
	x86asm.POPFQ:       {effects: (*effectsAMD64).popFlags},
	x86asm.ENTER:       {effects: (*effectsAMD64).enter, flags: flagBuild},
	x86asm.LEAVE:       {effects: (*effectsAMD64).leave, flags: flagTear},
	x86asm.MOV:         {effects: (*effectsAMD64).move, keeps: true},
	x86asm.MOVZX:       widenAMD64,
	x86asm.MOVSX:       widenAMD64,
	x86asm.MOVSXD:      widenAMD64,
	x86asm.CDQE:        {effects: (*effectsAMD64).widenRAX, keeps: true},
	x86asm.LEA:         {effects: (*effectsAMD64).address, keeps: true},
	x86asm.ADD:         addAMD64,
	x86asm.SUB:         addAMD64,
	x86asm.AND:         {effects: (*effectsAMD64).mask},
	x86asm.OR:          {effects: (*effectsAMD64).or},
	x86asm.XCHG:        {effects: (*effectsAMD64).exchange},
}

// The registers that build frames.
const (
	spAMD64 = uint8(RSP)
	fpAMD64 = uint8(RBP)
)

// apply emits the effects of the instruction, and notes what it does with frames and flags.
func (e *effectsAMD64) apply(p *program) {
	e.operands()
	if e.in.Op < firstVEX {
		row := &operationsAMD64[e.in.Op]
		e.out.flags |= row.flags
		e.out.keeps = row.keeps
		if row.effects != nil && row.effects(e, p) {
			return
		}
	}
	otherAMD64(p, &e.in, e.r, e.m, e.isMem)
}

// operands takes the first two operands apart.
func (e *effectsAMD64) operands() {
	e.r, e.w, e.isMem = [2]uint8{regNone, regNone}, [2]int{}, [2]bool{}
	for i := range e.r {
		switch a := e.in.Args[i].(type) {
		case x86asm.Reg:
			e.r[i], e.w[i] = gpr(a)
		case x86asm.Mem:
			e.m[i], e.isMem[i] = a, true
			if e.in.Op != x86asm.LEA && e.in.Op != x86asm.NOP {
				e.out.base, _ = gpr(a.Base)
			}
		}
	}
	imm, ok := e.in.Args[1].(x86asm.Imm)
	e.imm, e.isImm = int64(imm), ok
}

// mem is an operand in memory as base and displacement; see [mem].
func (e *effectsAMD64) mem(operand int) (uint8, int64) { return mem(e.m[operand], &e.in) }

func (e *effectsAMD64) nothing(*program) bool { return true }

func (e *effectsAMD64) compare(p *program) bool {
	switch {
	case e.w[0] == 64 && e.w[1] == 64:
		e.out.cmpA, e.out.cmpB = e.r[0], e.r[1]
	case e.isImm && e.w[0] != 0:
		p.emit(op{kind: opCompare, s: e.r[0], imm: unsigned(e.imm, e.w[0]), t: uint8(e.w[0])})
	case e.isImm && e.isMem[0]:
		limit := unsigned(e.imm, 8*e.in.MemBytes)
		if o, ok := addressAMD64(&e.in, e.m[0]); ok && limit >= 0 && limit <= maxEntries {
			o.kind = opCompareAt
			o.mask |= uint64(limit) << limitShift
			p.emit(o)
		}
	}
	return true
}

// slot is what a push or pop of an operand moves, in bytes.
func (e *effectsAMD64) slot() int64 {
	if e.in.DataSize == 16 {
		return 2
	}
	return 8
}

func (e *effectsAMD64) push(p *program) bool {
	n := e.slot()
	switch {
	case n == 8 && e.w[0] == 64:
		p.emit(op{kind: opStore, s: spAMD64, imm: -8, t: e.r[0]})
	case n == 8 && e.isMem[0]:
		b, d := e.mem(0)
		p.emit(op{kind: opLoad, d: regTmp, s: b, imm: d}, op{kind: opStore, s: spAMD64, imm: -8, t: regTmp})
	default:
		p.emit(op{kind: opWipe, s: spAMD64, imm: -n, t: uint8(n)})
	}
	p.emit(op{kind: opAdd, d: spAMD64, s: spAMD64, imm: -n})
	return true
}

func (e *effectsAMD64) pop(p *program) bool {
	n := e.slot()
	switch {
	case e.r[0] == spAMD64:
		p.emit(op{kind: opLoad, d: spAMD64, s: spAMD64})
		if n != 8 {
			p.emit(op{kind: opClobber, mask: 1 << spAMD64})
		}
		return true
	case n == 8 && e.w[0] == 64:
		p.emit(op{kind: opLoad, d: e.r[0], s: spAMD64})
	case e.w[0] != 0:
		p.emit(op{kind: opClobber, mask: 1 << e.r[0]})
	}
	p.emit(op{kind: opAdd, d: spAMD64, s: spAMD64, imm: n})
	if e.isMem[0] {
		b, d := e.mem(0)
		p.emit(op{kind: opWipe, s: b, imm: d, t: 8})
	}
	return true
}

// flagsSize is what a push or pop of the processor's flags moves, in bytes.
func (e *effectsAMD64) flagsSize() int64 {
	if e.in.Op == x86asm.PUSHFQ || e.in.Op == x86asm.POPFQ {
		return 8
	}
	return int64(e.in.DataSize / 8)
}

func (e *effectsAMD64) pushFlags(p *program) bool {
	p.emit(op{kind: opAdd, d: spAMD64, s: spAMD64, imm: -e.flagsSize()}, op{kind: opWipe, s: spAMD64, t: 8})
	return true
}

func (e *effectsAMD64) popFlags(p *program) bool {
	p.emit(op{kind: opAdd, d: spAMD64, s: spAMD64, imm: e.flagsSize()})
	return true
}

func (e *effectsAMD64) leave(p *program) bool {
	p.emit(op{kind: opMov, d: spAMD64, s: fpAMD64}, op{kind: opLoad, d: fpAMD64, s: spAMD64}, op{kind: opAdd, d: spAMD64, s: spAMD64, imm: 8})
	return true
}

func (e *effectsAMD64) enter(p *program) bool {
	n, ok := e.in.Args[0].(x86asm.Imm)
	if !ok || !e.isImm || e.imm != 0 {
		p.emit(op{kind: opClobber, mask: 1<<spAMD64 | 1<<fpAMD64})
		return true
	}
	p.emit(op{kind: opStore, s: spAMD64, imm: -8, t: fpAMD64}, op{kind: opAdd, d: spAMD64, s: spAMD64, imm: -8},
		op{kind: opMov, d: fpAMD64, s: spAMD64}, op{kind: opAdd, d: spAMD64, s: spAMD64, imm: -int64(uint16(n))})
	return true
}

func (e *effectsAMD64) move(p *program) bool {
	switch {
	case e.w[0] == 64 && e.w[1] == 64:
		if e.r[0] == fpAMD64 && e.r[1] == spAMD64 {
			e.out.flags |= flagBuild
		}
		if e.r[0] == spAMD64 {
			e.out.flags |= flagTear
		}
		p.emit(op{kind: opMov, d: e.r[0], s: e.r[1]})
	case e.w[0] == 64 && e.isMem[1]:
		b, d := e.mem(1)
		if b == spAMD64 {
			e.out.flags |= flagTear
		}
		if b != regNone || !loadAMD64(p, &e.in, e.r[0], 64, e.m[1], true, 0) {
			p.emit(op{kind: opLoad, d: e.r[0], s: b, imm: d})
		}
	case e.isMem[0] && e.w[1] == 64:
		b, d := e.mem(0)
		p.emit(op{kind: opStore, s: b, imm: d, t: e.r[1]})
	case e.isImm && (e.w[0] == 64 || e.w[0] == 32 && e.imm >= 0):
		p.emit(op{kind: opConst, d: e.r[0], imm: e.imm})
	case e.w[0] == 32 && e.w[1] == 32:
		p.emit(op{kind: opExtend, d: e.r[0], s: e.r[1], t: 32})
	default:
		return loadAMD64(p, &e.in, e.r[0], e.w[0], e.m[1], e.isMem[1], 0)
	}
	return true
}

func (e *effectsAMD64) widen(p *program) bool {
	signed := uint64(1)
	if e.in.Op == x86asm.MOVZX {
		signed = 0
	}
	if e.w[0] >= 32 && e.w[1] != 0 {
		p.emit(op{kind: opExtend, d: e.r[0], s: e.r[1], t: uint8(e.w[1]), mask: signed})
		return true
	}
	return loadAMD64(p, &e.in, e.r[0], e.w[0], e.m[1], e.isMem[1], signed*signExtends)
}

func (e *effectsAMD64) widenRAX(p *program) bool {
	p.emit(op{kind: opExtend, d: 0, s: 0, t: 32, mask: 1})
	return true
}

func (e *effectsAMD64) address(p *program) bool {
	if e.w[0] != 64 || !e.isMem[1] {
		return false
	}
	b, d := e.mem(1)
	switch {
	case b != regNone:
		if e.r[0] == spAMD64 {
			e.out.flags |= tearOrBuild(b != spAMD64 || d > 0)
		}
		p.emit(op{kind: opAdd, d: e.r[0], s: b, imm: d})
	case e.r[0] == spAMD64:
		p.emit(op{kind: opBase})
	default:
		return leaAMD64(p, &e.in, e.r[0], e.m[1])
	}
	return true
}

// add is ADD and SUB.
func (e *effectsAMD64) add(p *program) bool {
	by, k := e.imm, opAddReg
	if e.in.Op == x86asm.SUB {
		by, k = -by, opSubReg
	}
	if e.in.Op == x86asm.ADD && e.w[0] == 64 && e.isMem[1] && e.m[1].Index != 0 && // an entry of 8 bytes of a jump table
		loadAMD64(p, &e.in, regTmp, 64, e.m[1], true, 0) {
		p.emit(op{kind: opAddReg, d: e.r[0], s: e.r[0], t: regTmp})
		return true
	}
	if e.w[0] != 64 || !e.isImm && e.w[1] != 64 {
		return false
	}
	if e.r[0] == spAMD64 {
		e.out.flags |= tearOrBuild(e.isImm && by > 0)
	}
	if e.isImm {
		p.emit(op{kind: opAdd, d: e.r[0], s: e.r[0], imm: by})
	} else {
		p.emit(op{kind: k, d: e.r[0], s: e.r[0], t: e.r[1]})
	}
	return true
}

func (e *effectsAMD64) mask(p *program) bool {
	switch {
	case e.r[0] == spAMD64 && e.w[0] == 64:
		e.out.flags |= flagBuild
		by := int64(0)
		if e.isImm {
			by = e.imm
		}
		p.emit(op{kind: opBase, imm: by})
	case e.isImm && e.w[0] >= 32:
		p.emit(op{kind: opMask, d: e.r[0], imm: e.imm})
	default:
		return false
	}
	return true
}

// or: clang's hardening against speculation (-mspeculative-load-hardening) puts a number into the stack pointer, and into
// targets of jumps, that is 0 on every path that is really taken. Nothing else does that to a stack pointer.
func (e *effectsAMD64) or(p *program) bool {
	if e.w[0] != 64 || e.w[1] != 64 {
		return false
	}
	if e.r[0] != spAMD64 {
		p.emit(op{kind: opHarden, d: e.r[0], s: e.r[1]})
	}
	return true
}

func (e *effectsAMD64) exchange(p *program) bool {
	if e.w[0] != 64 || e.w[1] != 64 {
		return false
	}
	p.emit(op{kind: opMov, d: regTmp, s: e.r[0]}, op{kind: opMov, d: e.r[0], s: e.r[1]}, op{kind: opMov, d: e.r[1], s: regTmp})
	return true
}

// leavesMemory reports whether an instruction only seems to write: lock orq $0,(%rsp) is a barrier, orq $0,(%rsp)
// probes a stack.
func leavesMemory(in *x86asm.Inst) bool {
	imm, ok := in.Args[1].(x86asm.Imm)
	return ok && imm == 0 && (in.Op == x86asm.OR || in.Op == x86asm.ADD || in.Op == x86asm.SUB || in.Op == x86asm.XOR)
}

// otherAMD64 is the cautious rule for everything else: the first operand is written, the second too where an
// instruction has two results, and the registers that it may write without naming them.
func otherAMD64(p *program, in *x86asm.Inst, r [2]uint8, m [2]x86asm.Mem, isMem [2]bool) {
	mask := implicit(in)
	switch in.Op {
	case x86asm.MULX, x86asm.XCHG, x86asm.XADD:
		if r[1] != regNone {
			mask |= 1 << r[1]
		}
	}
	if r[0] != regNone {
		mask |= 1 << r[0]
	}
	if mask != 0 {
		p.emit(op{kind: opClobber, mask: mask})
	}
	n := in.MemBytes
	switch {
	case in.Op == x86asm.FLD || in.Op == x86asm.FSTP || in.Op == x86asm.FBLD || in.Op == x86asm.FBSTP:
		n = 10
	case in.Op == x86asm.FNSTCW || in.Op == x86asm.FNSTSW || in.Op == x86asm.FLDCW || in.Op == x86asm.STMXCSR || in.Op == x86asm.LDMXCSR:
		n = 4
	case n <= 0 || n > 128:
		n = 128
	}
	for i := range m {
		if isMem[i] && (i == 0 || in.Op == x86asm.XCHG) && !leavesMemory(in) {
			b, d := mem(m[i], in)
			p.emit(op{kind: opWipe, s: b, imm: d, t: uint8(n)})
		}
	}
}
