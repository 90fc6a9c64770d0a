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
		if r, ok := in.Args[0].(x86asm.Reg); ok {
			out.cmpA, _ = gpr(r)
		}
		call := op{kind: opCall}
		if hasPrefix(p.code[off+int32(in.Len):], 0x48, 0x29, 0xc4) { // sub %rax,%rsp: a probe of so much stack (__rust_probestack)
			call.mask = 1 << 0
		}
		p.emit(call)
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
	e := &p.amd64
	e.in, e.out = in, out
	e.apply(p)
	return e.out
}
