package prologue

import (
	"golang.org/x/arch/x86/x86asm"

	"github.com/clewdbg/clew/unwind"
)

// AMD64 says where the caller of a frame stopped at pc is. code holds the original bytes from the function's entry
// point at address start on, up to its end if that is known, else some way beyond pc. It never panics, and takes
// bounded time on any input. See the package documentation for the assumptions.
func AMD64(code []byte, start, pc uint64) (Rule, Verdict) {
	return analyse(&amd64Arch, code, start, pc, Expr{})
}

// AMD64Body is [AMD64] where a table says how the CFA is found in the function's body, but not in its prologue and
// epilogue. That settles which frame code has that is reached by indirect jumps only.
func AMD64Body(code []byte, start, pc uint64, cfa Expr) (Rule, Verdict) {
	return analyse(&amd64Arch, code, start, pc, cfa)
}

// AMD64CallingGo is [AMD64] for a function of C's ABI that calls functions of Go's, which preserve no register but rsp
// and rbp: behind such a call, callee-saved registers are where the function saved them, or lost. The one example is
// Go's crosscall2 (runtime/cgo/asm_amd64.s), through which C calls Go.
func AMD64CallingGo(code []byte, start, pc uint64) (Rule, Verdict) {
	return analyse(&amd64GoArch, code, start, pc, Expr{})
}

var amd64Arch, amd64GoArch arch

func init() {
	amd64Arch = arch{
		sp: RSP, fp: RBP, ra: 16, entrySP: -8,
		callerSaved: 1<<0 | 1<<1 | 1<<2 | 1<<4 | 1<<5 | 1<<8 | 1<<9 | 1<<10 | 1<<11,
		saved:       calleeSaved(unwind.AMD64),
		private:     1<<RBX | 1<<RBP | 1<<R15, // not r12-r14: Swift's error, self and async context
		decode:      decodeAMD64,
	}
	amd64GoArch = amd64Arch
	for _, r := range amd64Arch.saved {
		amd64GoArch.callerSaved |= 1 << r
	}
}

// hwDwarf maps the hardware's register numbers to DWARF's.
var hwDwarf = [16]uint8{0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15}

// gpr returns the register file index and width in bits of a general purpose register.
func gpr(r x86asm.Reg) (uint8, int) {
	switch {
	case r >= x86asm.RAX && r <= x86asm.R15:
		return hwDwarf[r-x86asm.RAX], 64
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return hwDwarf[r-x86asm.EAX], 32
	case r >= x86asm.AX && r <= x86asm.R15W:
		return hwDwarf[r-x86asm.AX], 16
	case r >= x86asm.AL && r <= x86asm.BL:
		return hwDwarf[r-x86asm.AL], 8
	case r >= x86asm.AH && r <= x86asm.BH:
		return hwDwarf[r-x86asm.AH], 8
	case r >= x86asm.SPB && r <= x86asm.R15B:
		return hwDwarf[r-x86asm.SPB+4], 8
	}
	return regNone, 0
}

// mem splits a memory operand into base and displacement; base is regNone if the address is not base+displacement of
// a 64-bit register in the flat address space.
func mem(m x86asm.Mem, in *x86asm.Inst) (uint8, int64) {
	if m.Segment == x86asm.FS || m.Segment == x86asm.GS || m.Index != 0 || in.AddrSize != 64 {
		return regNone, 0
	}
	b, w := gpr(m.Base)
	if w != 64 {
		return regNone, 0
	}
	// x86asm does not sign-extend every 32-bit displacement.
	return b, int64(int32(m.Disp))
}

// cutOff reports whether the code ends within an instruction.
func cutOff(src []byte) bool {
	var longer [16]byte
	in, err := x86asm.Decode(longer[:max(copy(longer[:], src), len(longer))], 64)
	return len(src) < len(longer) && err == nil && in.Op != 0 && in.Len > len(src)
}

func decodeAMD64(p *program, off int32) inst {
	p.at = off
	src := p.code[off:]
	if len(src) > 16 {
		src = src[:16]
	}
	out := inst{target: -1, cmpA: regNone, cmpB: regNone, base: regNone}
	if len(src) >= 4 && src[0] == 0xf3 && src[1] == 0x0f && src[2] == 0x1e && src[3]&^1 == 0xfa {
		out.len = 4 // endbr64, endbr32: x86asm does not know them
		return out
	}
	if len(src) >= 3 && src[0] == 0xc5 && src[1]&^4 == 0xf8 && src[2] == 0x77 {
		out.len, out.flags = 3, flagTear // vzeroupper, vzeroall: x86asm adds an operand byte that they do not have
		return out
	}
	var in x86asm.Inst
	var err error
	if l := layoutAMD64(src); !quickAMD64(src, &l, &in) {
		in, err = x86asm.Decode(src, 64)
	}
	if in.Op == 0 && cutOff(src) {
		// As behind a call that does not return: the bytes there are filler, and no
		// path of the function leads to it.
		out.len, out.flow = uint8(len(src)), flowStop
		return out
	}
	if err != nil || in.Op == 0 || in.Len <= 0 || in.Len > len(src) {
		return fallbackAMD64(p, src, out)
	}
	out.len = uint8(in.Len)
	rel := func() {
		out.target = -1
		if r, ok := in.Args[0].(x86asm.Rel); ok {
			if t := int64(off) + int64(in.Len) + int64(r); t >= 0 && t < int64(len(p.code)) {
				out.target = int32(t)
			}
		}
	}
	switch in.Op {
	case x86asm.JMP:
		out.flow = flowIndirect
		if _, ok := in.Args[0].(x86asm.Rel); ok {
			out.flow = flowJump
			rel()
		}
		refersAMD64(&out, &in, off)
		if out.flow == flowIndirect {
			jumpAMD64(p, &in)
		}
		return out
	case x86asm.CALL:
		out.flow = flowCall
		rel()
		refersAMD64(&out, &in, off)
		if out.target > off && trapsSpeculation(p.code[off+int32(in.Len):out.target]) {
			// A retpoline: the call is a push, and nothing returns behind it.
			out.flow, out.refers = flowJump, refersNone
			p.emit(op{kind: opAdd, d: 7, s: 7, imm: -8}, op{kind: opWipe, s: 7, t: 8})
			return out
		}
		if out.target == off+int32(in.Len) { // call next: a push of the PC
			out.flow = flowNext
			p.emit(op{kind: opAdd, d: 7, s: 7, imm: -8}, op{kind: opWipe, s: 7, t: 8})
			return out
		}
		p.emit(op{kind: opCall})
		return out
	case x86asm.RET:
		const replace = 4 // mov REG,(%rsp)
		if out.flow = flowRet; off >= replace && ReplacesReturn(p.code[off-replace:]) {
			out.flow = flowIndirect // to what a retpoline has put there
			p.emit(op{kind: opClobber, mask: 1 << regTmp}, op{kind: opAdd, d: 7, s: 7, imm: 8})
		}
		return out
	case x86asm.LRET, x86asm.IRET, x86asm.IRETD, x86asm.IRETQ, x86asm.SYSRET, x86asm.SYSEXIT, x86asm.UD0, x86asm.UD1, x86asm.UD2, x86asm.HLT, x86asm.LJMP:
		out.flow = flowStop
		return out
	case x86asm.INT, x86asm.INTO, x86asm.ICEBP, x86asm.SYSCALL, x86asm.SYSENTER:
		out.flow = flowSoft
		switch {
		case src[0] == 0xcc: // a breakpoint changes nothing
			out.flags |= flagPad
		case in.Op == x86asm.SYSCALL: // no kernel changes rsi and rdi: vfork keeps its return address there
			p.emit(op{kind: opClobber, mask: amd64Implicit &^ (1<<4 | 1<<5)})
		default:
			p.emit(op{kind: opClobber, mask: amd64Implicit})
		}
		return out
	case x86asm.JA:
		out.limits = nextUpTo
	case x86asm.JBE:
		out.limits = takenUpTo
	case x86asm.JAE:
		out.limits = nextBelow
	case x86asm.JB:
		out.limits = takenBelow
	case x86asm.JE:
		out.flags |= flagEqTaken
	case x86asm.JNE:
		out.flags |= flagEqNext
	}
	if _, ok := in.Args[0].(x86asm.Rel); ok { // conditional jumps, loop, jrcxz, xbegin
		out.flow, out.keeps = flowCond, true
		rel()
		refersAMD64(&out, &in, off)
		if in.Op == x86asm.LOOP || in.Op == x86asm.LOOPE || in.Op == x86asm.LOOPNE || in.Op == x86asm.XBEGIN {
			p.emit(op{kind: opClobber, mask: amd64Implicit})
		}
		return out
	}
	effectsAMD64(p, &in, &out)
	return out
}

// effectsAMD64 emits the effects of a non-branching instruction.
func effectsAMD64(p *program, in *x86asm.Inst, out *inst) {
	var r [2]uint8
	var w [2]int
	var m [2]x86asm.Mem
	var isMem [2]bool
	for i := range r {
		r[i] = regNone
		switch a := in.Args[i].(type) {
		case x86asm.Reg:
			r[i], w[i] = gpr(a)
		case x86asm.Mem:
			m[i], isMem[i] = a, true
			if in.Op != x86asm.LEA && in.Op != x86asm.NOP {
				out.base, _ = gpr(a.Base)
			}
		}
	}
	const sp, fp = uint8(RSP), uint8(RBP)
	imm, isImm := in.Args[1].(x86asm.Imm)
	switch in.Op {
	case x86asm.NOP:
		out.flags |= flagPad
		out.keeps = true
		return
	case x86asm.CMP, x86asm.TEST, x86asm.BT, x86asm.PREFETCHNTA, x86asm.PREFETCHT0, x86asm.PREFETCHT1, x86asm.PREFETCHT2, x86asm.PREFETCHW,
		x86asm.PAUSE, x86asm.LFENCE, x86asm.MFENCE, x86asm.SFENCE, x86asm.CLFLUSH:
		switch {
		case in.Op != x86asm.CMP:
			out.keeps = in.Op >= x86asm.PREFETCHNTA && in.Op != x86asm.TEST && in.Op != x86asm.BT
		case w[0] == 64 && w[1] == 64:
			out.cmpA, out.cmpB = r[0], r[1]
		case isImm && w[0] != 0:
			p.emit(op{kind: opCompare, s: r[0], imm: unsigned(imm, w[0]), t: uint8(w[0])})
		case isImm && isMem[0]:
			limit := unsigned(imm, 8*in.MemBytes)
			if o, ok := addressAMD64(in, m[0]); ok && limit >= 0 && limit <= maxEntries {
				o.kind = opCompareAt
				o.mask |= uint64(limit) << limitShift
				p.emit(o)
			}
		}
		return
	case x86asm.PUSH:
		out.flags |= flagBuild
		out.keeps = true
		n := int64(8)
		if in.DataSize == 16 {
			n = 2
		}
		switch {
		case n == 8 && w[0] == 64:
			p.emit(op{kind: opStore, s: sp, imm: -8, t: r[0]})
		case n == 8 && isMem[0]:
			b, d := mem(m[0], in)
			p.emit(op{kind: opLoad, d: regTmp, s: b, imm: d}, op{kind: opStore, s: sp, imm: -8, t: regTmp})
		default:
			p.emit(op{kind: opWipe, s: sp, imm: -n, t: uint8(n)})
		}
		p.emit(op{kind: opAdd, d: sp, s: sp, imm: -n})
		return
	case x86asm.POP:
		out.flags |= flagTear
		out.keeps = true
		n := int64(8)
		if in.DataSize == 16 {
			n = 2
		}
		switch {
		case r[0] == sp:
			p.emit(op{kind: opLoad, d: sp, s: sp})
			if n != 8 {
				p.emit(op{kind: opClobber, mask: 1 << sp})
			}
			return
		case n == 8 && w[0] == 64:
			p.emit(op{kind: opLoad, d: r[0], s: sp})
		case w[0] != 0:
			p.emit(op{kind: opClobber, mask: 1 << r[0]})
		}
		p.emit(op{kind: opAdd, d: sp, s: sp, imm: n})
		if isMem[0] {
			b, d := mem(m[0], in)
			p.emit(op{kind: opWipe, s: b, imm: d, t: 8})
		}
		return
	case x86asm.PUSHFQ, x86asm.PUSHF:
		n := int64(in.DataSize / 8)
		if in.Op == x86asm.PUSHFQ {
			n = 8
		}
		p.emit(op{kind: opAdd, d: sp, s: sp, imm: -n}, op{kind: opWipe, s: sp, t: 8})
		return
	case x86asm.POPFQ, x86asm.POPF:
		n := int64(in.DataSize / 8)
		if in.Op == x86asm.POPFQ {
			n = 8
		}
		p.emit(op{kind: opAdd, d: sp, s: sp, imm: n})
		return
	case x86asm.LEAVE:
		out.flags |= flagTear
		p.emit(op{kind: opMov, d: sp, s: fp}, op{kind: opLoad, d: fp, s: sp}, op{kind: opAdd, d: sp, s: sp, imm: 8})
		return
	case x86asm.ENTER:
		out.flags |= flagBuild
		n, ok := in.Args[0].(x86asm.Imm)
		if !ok || !isImm || imm != 0 {
			p.emit(op{kind: opClobber, mask: 1<<sp | 1<<fp})
			return
		}
		p.emit(op{kind: opStore, s: sp, imm: -8, t: fp}, op{kind: opAdd, d: sp, s: sp, imm: -8},
			op{kind: opMov, d: fp, s: sp}, op{kind: opAdd, d: sp, s: sp, imm: -int64(uint16(n))})
		return
	case x86asm.MOV:
		out.keeps = true
		switch {
		case w[0] == 64 && w[1] == 64:
			if r[0] == fp && r[1] == sp {
				out.flags |= flagBuild
			}
			if r[0] == sp {
				out.flags |= flagTear
			}
			p.emit(op{kind: opMov, d: r[0], s: r[1]})
			return
		case w[0] == 64 && isMem[1]:
			b, d := mem(m[1], in)
			if b == sp {
				out.flags |= flagTear
			}
			if b == regNone && loadAMD64(p, in, r[0], 64, m[1], true, 0) {
				return
			}
			p.emit(op{kind: opLoad, d: r[0], s: b, imm: d})
			return
		case isMem[0] && w[1] == 64:
			b, d := mem(m[0], in)
			p.emit(op{kind: opStore, s: b, imm: d, t: r[1]})
			return
		case isImm && (w[0] == 64 || w[0] == 32 && imm >= 0):
			p.emit(op{kind: opConst, d: r[0], imm: int64(imm)})
			return
		case w[0] == 32 && w[1] == 32:
			p.emit(op{kind: opExtend, d: r[0], s: r[1], t: 32})
			return
		}
		if loadAMD64(p, in, r[0], w[0], m[1], isMem[1], 0) {
			return
		}
	case x86asm.MOVZX, x86asm.MOVSX, x86asm.MOVSXD:
		out.keeps = true
		signed := uint64(1)
		if in.Op == x86asm.MOVZX {
			signed = 0
		}
		if w[0] >= 32 && w[1] != 0 {
			p.emit(op{kind: opExtend, d: r[0], s: r[1], t: uint8(w[1]), mask: signed})
			return
		}
		if loadAMD64(p, in, r[0], w[0], m[1], isMem[1], signed*signExtends) {
			return
		}
	case x86asm.CDQE:
		out.keeps = true
		p.emit(op{kind: opExtend, d: 0, s: 0, t: 32, mask: 1})
		return
	case x86asm.LEA:
		out.keeps = true
		if w[0] == 64 && isMem[1] {
			if b, d := mem(m[1], in); b != regNone {
				if r[0] == sp {
					out.flags |= tearOrBuild(b != sp || d > 0)
				}
				p.emit(op{kind: opAdd, d: r[0], s: b, imm: d})
				return
			}
			if r[0] == sp {
				p.emit(op{kind: opBase})
				return
			}
			if leaAMD64(p, in, r[0], m[1]) {
				return
			}
		}
	case x86asm.ADD, x86asm.SUB:
		sign, k := int64(1), opAddReg
		if in.Op == x86asm.SUB {
			sign, k = -1, opSubReg
		}
		if w[0] != 64 || !isImm && w[1] != 64 {
			break
		}
		if r[0] == sp {
			if isImm && (sign*int64(imm) > 0) {
				out.flags |= flagTear
			} else {
				out.flags |= flagBuild
			}
		}
		if isImm {
			p.emit(op{kind: opAdd, d: r[0], s: r[0], imm: sign * int64(imm)})
		} else {
			p.emit(op{kind: k, d: r[0], s: r[0], t: r[1]})
		}
		return
	case x86asm.AND:
		if r[0] == sp && w[0] == 64 {
			out.flags |= flagBuild
			p.emit(op{kind: opBase})
			return
		}
		if isImm && w[0] >= 32 {
			p.emit(op{kind: opMask, d: r[0], imm: int64(imm)})
			return
		}
	case x86asm.XCHG:
		if w[0] == 64 && w[1] == 64 {
			p.emit(op{kind: opMov, d: regTmp, s: r[0]}, op{kind: opMov, d: r[0], s: r[1]}, op{kind: opMov, d: r[1], s: regTmp})
			return
		}
	}
	otherAMD64(p, in, r, m, isMem)
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
