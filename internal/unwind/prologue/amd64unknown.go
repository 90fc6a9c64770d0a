package prologue

import "slices"

// fallbackAMD64 decodes src as an instruction that x86asm does not know (adcx, rdpkru,
// instruction sets to come): its length, and the registers that it could write. Only the
// escape maps 0F, 0F38, 0F3A, VEX and EVEX are taken, in which nothing branches but 0F
// 80-8F, which x86asm knows.
func fallbackAMD64(p *program, src []byte, out inst) inst {
	l := layoutAMD64(src)
	if l.len <= 0 || l.maps == mapOne || l.maps == map0F && !isPlain0F(src[l.op]) {
		out.len, out.flow = 1, flowBad
		return out
	}
	out.len = uint8(l.len)
	if vectorsOnly(l.maps, src[l.op]) {
		return out
	}
	mask := uint64(amd64Implicit)
	if l.maps != map0F { // of the other maps only comparisons of strings write what they do not name
		mask = inRCX
	}
	if l.modrm != 0 {
		modrm := src[l.modrm]
		mask |= 1 << hwDwarf[l.rex<<1&8|modrm>>3&7]
		if modrm>>6 == 3 {
			mask |= 1 << hwDwarf[l.rex<<3&8|modrm&7]
		}
	}
	if l.vvvv < 16 {
		mask |= 1 << hwDwarf[l.vvvv]
	}
	// None of these writes the stack pointer: number 4 there means a vector or the like.
	p.emit(op{kind: opClobber, mask: mask &^ (1 << RSP)})
	return out
}

// isPlain0F: opcodes of map 0F with a ModRM byte, without the ones that branch or stop.
func isPlain0F(o byte) bool {
	switch opcodes0F[o] {
	case 'm', 'B':
		return o != 0x0f && o != 0xb9 && o != 0xff
	}
	return false
}

// vectorsOnly reports whether an instruction with a VEX or EVEX prefix writes no general purpose register: all
// but moves and conversions to one, masks of signs, comparisons of strings, BMI and CMPccXADD.
func vectorsOnly(maps, op uint8) bool {
	switch maps {
	case mapVEX + map0F:
		return !slices.Contains([]byte{0x2c, 0x2d, 0x50, 0x78, 0x79, 0x7e, 0x93, 0xc5, 0xd7}, op)
	case mapVEX + map0F38:
		return op < 0xe0
	case mapVEX + map0F3A:
		return (op < 0x14 || op > 0x17) && op != 0x61 && op != 0x63 && op < 0xf0
	}
	return false
}
