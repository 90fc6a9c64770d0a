package prologue

import (
	"encoding/binary"

	"github.com/clewdbg/clew/unwind"
)

// ARM64 is [AMD64] for arm64 code (little-endian instructions).
func ARM64(code []byte, start, pc uint64) (Rule, Verdict) {
	return analyse(&arm64Arch, code, start, pc, Expr{})
}

// ARM64Body is [AMD64Body] for arm64 code.
func ARM64Body(code []byte, start, pc uint64, cfa Expr) (Rule, Verdict) {
	return analyse(&arm64Arch, code, start, pc, cfa)
}

var arm64Arch arch

func init() {
	arm64Arch = arch{
		sp: SP, fp: X29, ra: X30, wide: true,
		callerSaved: 1<<19 - 1 | 1<<30,
		// Not x20-x22 (Swift's self, error and async context), x28 (Go's g) and x29's neighbours.
		private: 1<<19 | 1<<23 | 1<<24 | 1<<25 | 1<<26 | 1<<27 | 1<<29,
		saved:   calleeSaved(unwind.ARM64),
		decode:  decodeARM64,
	}
}

const sp64 = uint8(SP)

// zr is register number 31 where it is not the stack pointer.
func zr(r uint32) uint8 {
	if r == 31 {
		return regNone
	}
	return uint8(r)
}

// dreg is the register file index of vector register r, if its low half is callee-saved.
func dreg(r uint32) uint8 {
	if r >= 8 && r <= 15 {
		return uint8(r-8) + 32
	}
	return regNone
}

func sext(v uint32, bits uint) int64 { return int64(int32(v<<(32-bits)) >> (32 - bits)) }

// decodeARM64 decodes by the encoding classes of the Arm Architecture Reference Manual, C4.1; an instruction that is
// not of interest clobbers the registers that it could write.
func decodeARM64(p *program, off int32) inst {
	out := inst{target: -1, cmpA: regNone, cmpB: regNone, base: regNone, len: 4}
	p.at = off
	src := p.code[off:]
	if len(src) < 4 {
		out.len, out.flow = uint8(len(src)), flowBad
		return out
	}
	w := binary.LittleEndian.Uint32(src)
	out.keeps = keepsFlags(w)
	to := func(rel int64) {
		out.dest, out.refers = int64(off)+rel*4, refersCode
		if t := int64(off) + rel*4; t >= 0 && t < int64(len(p.code)) {
			out.target = int32(t)
		}
	}
	switch {
	case w>>16 == 0: // udf
		out.flow, out.flags = flowStop, flagPad
	case w&0x7c000000 == 0x14000000: // b, bl
		out.flow = flowJump
		if w>>31 == 1 {
			out.flow = flowCall
			p.emit(op{kind: opCall})
		}
		to(sext(w, 26))
	case w&0xff000000 == 0x54000000: // b.cond, bc.cond
		out.flow = flowCond
		switch w & 15 {
		case 0:
			out.flags = flagEqTaken
		case 1:
			out.flags = flagEqNext
		case 14, 15:
			out.flow = flowJump
		default:
			out.limits = limitsARM64[w&15]
		}
		to(sext(w>>5, 19))
	case w&0x7e000000 == 0x34000000: // cbz, cbnz
		out.flow = flowCond
		to(sext(w>>5, 19))
	case w&0x7e000000 == 0x36000000: // tbz, tbnz
		out.flow = flowCond
		to(sext(w>>5, 14))
	case w&0xfe000000 == 0xd6000000:
		branchReg(p, &out, w)
	case w&0xff000000 == 0xd4000000: // exceptions
		out.flow = flowSoft
		switch w & 0xffe0001f {
		case 0xd4000001: // svc
			p.emit(op{kind: opClobber, mask: 1})
		case 0xd4200000, 0xd4400000: // brk, hlt
			out.flow = flowStop
		}
	case w&0xff000000 == 0xd5000000:
		systemARM64(p, &out, w)
	case w&0x1c000000 == 0x10000000: // data processing, immediate
		immediateARM64(p, &out, w)
	case w&0x0a000000 == 0x08000000: // loads and stores
		memoryARM64(p, &out, w)
	case w&0x0e000000 == 0x0a000000: // data processing, register
		registerARM64(p, &out, w)
	case w&0x0e000000 == 0x0e000000: // floating point and vector
		vectorARM64(p, w)
	default: // SVE, SME, reserved
		if w&0xffa0f800 == 0x04205000 && w&31 == 31 { // addvl, addpl sp
			p.emit(op{kind: opBase})
			return out
		}
		p.emit(op{kind: opClobber, mask: clobberBoth(w & 31)})
	}
	return out
}

// clobberBoth clobbers general and vector register r.
func clobberBoth(r uint32) uint64 {
	m := uint64(0)
	if r < 31 {
		m = 1 << r
	}
	if d := dreg(r); d != regNone {
		m |= 1 << d
	}
	return m
}

func branchReg(p *program, out *inst, w uint32) {
	switch opc := w >> 21 & 15; opc {
	case 0, 8: // br, braaz, braa
		out.flow = flowIndirect
		p.emit(op{kind: opMov, d: regTmp, s: uint8(w >> 5 & 31)})
	case 1, 9: // blr and its authenticating forms
		out.flow = flowCall
		p.emit(op{kind: opCall})
	case 2: // ret, retaa, retab
		out.flow = flowRet
	default: // eret, drps
		out.flow = flowStop
	}
}

// systemARM64: hints (among them pointer authentication of x30), barriers, system registers.
func systemARM64(p *program, out *inst, w uint32) {
	switch w {
	case 0xd503201f: // nop
		out.flags |= flagPad
	case 0xd503233f, 0xd503237f, 0xd503231f, 0xd503235f: // paciasp, pacibsp, paciaz, pacibz
		out.flags |= flagBuild
		p.emit(op{kind: opSign, t: 1})
	case 0xd50323bf, 0xd50323ff, 0xd503239f, 0xd50323df, 0xd50320ff: // autiasp, autibsp, autiaz, autibz, xpaclri
		out.flags |= flagTear
		p.emit(op{kind: opSign})
	case 0xd503211f, 0xd503215f, 0xd503219f, 0xd50321df: // pacia1716 and the like: x17
		p.emit(op{kind: opClobber, mask: 1 << 17})
	default:
		if w&0xffe00000 == 0xd5200000 || w&0xfff80000 == 0xd5280000 { // mrs, sysl
			p.emit(op{kind: opClobber, mask: regMask(w&31, false)})
		}
	}
}

func immediateARM64(p *program, out *inst, w uint32) {
	rd, rn, wide := w&31, w>>5&31, w>>31 == 1
	switch w >> 23 & 7 {
	case 2: // add, sub
		n := int64(w >> 10 & 0xfff)
		if w>>22&1 == 1 {
			n <<= 12
		}
		if w>>30&1 == 1 {
			n = -n
		}
		flags := w>>29&1 == 1
		d := uint8(rd)
		if flags {
			d = zr(rd)
		}
		if flags && n <= 0 && rn != rd && rn != 31 {
			p.emit(op{kind: opCompare, s: uint8(rn), imm: -n, t: 32 + 32*uint8(boolBit(wide))})
		}
		if !wide {
			p.emit(op{kind: opClobber, mask: 1 << rd &^ (boolBit(flags) << 31)})
			return
		}
		if d == sp64 {
			out.flags |= tearOrBuild(n > 0 || rn != 31)
		} else if rn == 31 && d == uint8(X29) {
			out.flags |= flagBuild
		}
		p.emit(op{kind: opAdd, d: d, s: uint8(rn), imm: n})
	case 4: // logical: and, orr, eor may write sp; ands not
		if w>>29&3 == 3 {
			p.emit(op{kind: opClobber, mask: 1 << rd &^ (1 << 31)})
		} else if rd == 31 {
			out.flags |= flagBuild
			p.emit(op{kind: opBase})
		} else {
			maskARM64(p, w)
		}
	case 5: // movn, movz, movk
		sh, v := uint8(w>>21&3)*16, int64(w>>5&0xffff)
		switch opc := w >> 29 & 3; {
		case rd == 31:
		case opc == 2 && sh < 32:
			p.emit(op{kind: opConst, d: uint8(rd), imm: v << sh})
		case opc == 3 && sh < 32:
			p.emit(op{kind: opKeep, d: uint8(rd), imm: v, t: sh})
		default:
			p.emit(op{kind: opClobber, mask: 1 << rd})
		}
	case 0, 1: // adr, adrp
		placeARM64(p, w)
	case 6: // bitfield
		bitsARM64(p, w)
	default: // extract, tagged add
		if w>>23&7 == 3 && rd == 31 { // addg, subg sp
			p.emit(op{kind: opBase})
			return
		}
		p.emit(op{kind: opClobber, mask: 1 << rd &^ (1 << 31)})
	}
}

func boolBit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func tearOrBuild(tear bool) uint8 {
	if tear {
		return flagTear
	}
	return flagBuild
}

func registerARM64(p *program, out *inst, w uint32) {
	rd, rn, rm, wide := w&31, w>>5&31, w>>16&31, w>>31 == 1
	switch {
	case w&0x7fe0ffe0 == 0x2a0003e0 && wide: // mov (orr with the zero register)
		p.emit(op{kind: opMov, d: zr(rd), s: zr(rm)})
	case w&0x7fe0ffe0 == 0x2a0003e0:
		p.emit(op{kind: opExtend, d: zr(rd), s: zr(rm), t: 32})
	case w&0x1f200000 == 0x0b200000: // add, sub, extended: may read and write sp
		k, flags := opAddReg, w>>29&1 == 1
		if w>>30&1 == 1 {
			k = opSubReg
		}
		plain := wide && (w>>10&63 == 0x18) // uxtx #0
		d := uint8(rd)
		if flags {
			d = zr(rd)
			if plain && rd == 31 && k == opSubReg {
				out.cmpA, out.cmpB = uint8(rn), zr(rm)
			}
		}
		if d == sp64 {
			out.flags |= tearOrBuild(k == opAddReg)
		}
		if !plain {
			if d == sp64 {
				p.emit(op{kind: opBase})
			} else {
				addEntry(p, w, 8<<(w>>13&3), w>>15&1 == 1, w>>10&7)
			}
			return
		}
		p.emit(op{kind: k, d: d, s: uint8(rn), t: zr(rm)})
	case w&0x3fe0fc00 == 0x0b000000 && wide && rn != 31: // add, sub, not shifted
		k := opAddReg
		if w>>30&1 == 1 {
			k = opSubReg
		}
		p.emit(op{kind: k, d: zr(rd), s: zr(rn), t: zr(rm)})
	case w&0xffe00000 == 0x8b000000: // add, shifted left
		addEntry(p, w, 64, false, w>>10&63)
	case w&0xffff0000 == 0xdac10000: // pacia ... autdzb, xpaci, xpacd
		if rd == 30 {
			out.flags |= flagBuild
			p.emit(op{kind: opSign, t: uint8(boolBit(w>>12&1 == 0 && w>>10&31 < 16))})
			return
		}
		p.emit(op{kind: opClobber, mask: 1 << rd &^ (1 << 31)})
	default:
		p.emit(op{kind: opClobber, mask: 1 << rd &^ (1 << 31)})
	}
}

// vectorARM64: such an instruction writes vector register rd, and a general register only when it moves or converts
// to one.
func vectorARM64(p *program, w uint32) {
	if w&0xff203c00 == 0x1e202000 || w&0xff200c00 == 0x1e200400 {
		return // fcmp, fccmp: flags only
	}
	rd := w & 31
	m := regMask(rd, true)
	opcode := w >> 16 & 7
	switch {
	case (w&0x7f20fc00 == 0x1e200000 || w&0x7f200000 == 0x1e000000) && opcode != 2 && opcode != 3 && opcode != 7, // to integer
		w&0x9fe0fc00 == 0x0e003c00, w&0xbfe0fc00 == 0x0e002c00: // umov, smov
		m = regMask(rd, false)
	}
	if m != 0 {
		p.emit(op{kind: opClobber, mask: m})
	}
}
