package prologue

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
	mask := uint64(amd64Implicit)
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
