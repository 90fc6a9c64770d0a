package prologue

// What jump tables need of arm64's instructions: gcc's entries have 1, 2 or 4 bytes, signed and
// relative to a place in the code, clang's are unsigned, both scaled by an
// instruction's size; or 4 bytes relative to the table.

// limitsARM64 are what b.cond proves, by its condition: hs, lo, hi, ls.
var limitsARM64 = [16]limit{2: nextBelow, 3: takenBelow, 8: nextUpTo, 9: takenUpTo}

// keepsFlags reports whether an instruction leaves the processor's flags as they are.
func keepsFlags(w uint32) bool {
	sets := w>>29&1 == 1
	switch {
	case w&0x1f000000 == 0x0a000000, w&0x1f800000 == 0x12000000: // logical
		return w>>29&3 != 3
	case w&0x1f000000 == 0x0b000000, w&0x1f000000 == 0x11000000, w&0x1e000000 == 0x1a000000: // add, sub; conditional, of one or two sources, of three
		return !sets
	case w&0x1c000000 == 0x10000000, w&0x1c000000 == 0x14000000: // other immediates; branches
		return true
	case w&0x0a000000 == 0x08000000: // loads and stores, but copying and setting of memory
		return w&0x3f000400 != 0x19000400
	}
	return w&0xfffff01f == 0xd503201f // hints
}

// placeARM64: adr, adrp.
func placeARM64(p *program, w uint32) {
	rel := sext(w>>5&0x7ffff<<2|w>>29&3, 21)
	at := int64(p.at)
	if w>>31 == 1 {
		at -= int64((p.start + uint64(at)) & 0xfff)
		rel <<= 12
	}
	p.emit(op{kind: opPlace, d: zr(w & 31), imm: at + rel})
}

// maskARM64: and, orr, eor with a constant. Only masks of the lowest bits matter.
func maskARM64(p *program, w uint32) {
	n, immr, imms := w>>22&1, w>>16&63, w>>10&63
	if w>>29&3 != 0 || immr != 0 || n == 0 && imms >= 32 {
		p.emit(op{kind: opClobber, mask: 1 << (w & 31)})
		return
	}
	p.emit(op{kind: opMask, d: uint8(w & 31), imm: int64(uint64(2)<<imms - 1)})
}

// bitsARM64: sxtw, uxtb, uxth, ubfx; others lose the register.
func bitsARM64(p *program, w uint32) {
	d, s, immr, imms := zr(w&31), zr(w>>5&31), w>>16&63, w>>10&63
	switch opc := w >> 29 & 3; {
	case opc == 0 && w>>31 == 1 && immr == 0 && imms == 31:
		p.emit(op{kind: opExtend, d: d, s: s, t: 32, mask: 1})
	case opc == 2 && immr == 0 && (imms == 7 || imms == 15):
		p.emit(op{kind: opExtend, d: d, s: s, t: uint8(imms + 1)})
	case opc == 2 && immr <= imms:
		p.emit(op{kind: opMask, d: d, imm: int64(uint64(2)<<(imms-immr) - 1)})
	default:
		p.emit(op{kind: opClobber, mask: regMask(w&31, false)})
	}
}

// loadIndexed: ldr and its like by a register and an index.
func loadIndexed(p *program, w uint32) {
	size, opc := uint64(1)<<(w>>30), w>>22&3
	d := zr(w & 31)
	if opc == 3 || opc == 2 && size == 8 { // sign-extended to 32 bits; prefetch
		p.emit(op{kind: opClobber, mask: regMask(w&31, false)})
		return
	}
	mask := uint64(1)
	if w>>12&1 == 1 {
		mask = size
	}
	if mask |= size << sizeShift; opc == 2 {
		mask |= signExtends
	}
	p.emit(op{kind: opLoadAt, d: d, s: uint8(w >> 5 & 31), t: zr(w >> 16 & 31), mask: mask})
}

// addEntry: add with a second operand of so many bits that is extended and shifted left. Any
// other loses the register.
func addEntry(p *program, w uint32, bits uint8, signed bool, shift uint32) {
	d := zr(w & 31)
	if w&0xff000000 != 0x8b000000 || shift > 3 {
		p.emit(op{kind: opClobber, mask: regMask(w&31, false)})
		return
	}
	mask := uint64(bits)
	if signed {
		mask |= signExtends
	}
	p.emit(op{kind: opAddEntry, d: d, s: uint8(w >> 5 & 31), t: zr(w >> 16 & 31), imm: int64(shift), mask: mask})
}
