package prologue

// Instructions that x86asm does not know (adcx, rdpkru, instruction sets to come): their length, and the registers
// that they could write. Only the escape maps 0F, 0F38, 0F3A, VEX and EVEX are taken, in which nothing branches but
// 0F 80-8F, which x86asm knows. Length rules: Intel SDM volume 2, chapter 2.

// fallbackAMD64 decodes src as such an instruction, or marks it undecodable.
func fallbackAMD64(p *program, src []byte, out inst) inst {
	bad := out
	bad.len, bad.flow = 1, flowBad
	i, opsize16 := 0, false
	for i < len(src) && i < 14 && legacyPrefix(src[i]) {
		opsize16 = opsize16 || src[i] == 0x66
		i++
	}
	var rexR, rexB, vvvv uint8
	vvvv = regNone
	mapNo, vex := uint8(0), false
	at := func(k int) uint8 {
		if i+k < len(src) {
			return src[i+k]
		}
		return 0
	}
	if b := at(0); b&0xf0 == 0x40 {
		rexR, rexB = b>>2&1, b&1
		i++
	}
	switch at(0) {
	case 0x0f:
		i++
		mapNo = 1
		switch at(0) {
		case 0x38:
			mapNo = 2
			i++
		case 0x3a:
			mapNo = 3
			i++
		}
	case 0xc5:
		vex, mapNo = true, 1
		rexR, vvvv = ^at(1)>>7&1, ^at(1)>>3&15
		i += 2
	case 0xc4:
		vex, mapNo = true, at(1)&31
		rexR, rexB, vvvv = ^at(1)>>7&1, ^at(1)>>5&1, ^at(2)>>3&15
		i += 3
	case 0x62:
		vex, mapNo = true, at(1)&7
		rexR, rexB, vvvv = ^at(1)>>7&1, ^at(1)>>5&1, ^at(2)>>3&15
		i += 4
	default:
		return bad
	}
	if mapNo == 0 || mapNo > 7 || i >= len(src) {
		return bad
	}
	opc := src[i]
	i++
	if mapNo == 1 && !vex && !hasModRM0F(opc) {
		return bad
	}
	modrm := at(0)
	noModRM := vex && mapNo == 1 && opc == 0x77
	if !noModRM {
		n := modRMLen(src[min(i, len(src)):])
		if n == 0 {
			return bad
		}
		i += n
	}
	if mapNo == 3 || mapNo == 1 && imm0F(opc) {
		i++
	}
	if i > len(src) || i > 15 || opsize16 && vex {
		return bad
	}
	out.len = uint8(i)
	mask := uint64(amd64Implicit)
	if !noModRM {
		mask |= 1 << hwDwarf[rexR<<3|modrm>>3&7]
		if modrm>>6 == 3 {
			mask |= 1 << hwDwarf[rexB<<3|modrm&7]
		}
	}
	if vvvv < 16 {
		mask |= 1 << hwDwarf[vvvv]
	}
	// None of these writes the stack pointer: number 4 there means a vector or the like.
	p.emit(op{kind: opClobber, mask: mask &^ (1 << RSP)})
	return out
}

func legacyPrefix(b byte) bool {
	switch b {
	case 0x66, 0x67, 0xf0, 0xf2, 0xf3, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65:
		return true
	}
	return false
}

// hasModRM0F: opcodes of map 0F with a ModRM byte, without the ones that branch or stop.
func hasModRM0F(o byte) bool {
	switch {
	case o >= 0x80 && o <= 0x8f, o >= 0xc8 && o <= 0xcf, o >= 0x30 && o <= 0x37:
		return false
	case o >= 0x04 && o <= 0x0c, o == 0x0e, o == 0x0f, o == 0x77, o == 0xa0, o == 0xa1, o == 0xa2, o == 0xa8, o == 0xa9, o == 0xaa, o == 0xb9, o == 0xff:
		return false
	}
	return true
}

// imm0F: opcodes of map 0F with an 8-bit immediate.
func imm0F(o byte) bool {
	switch o {
	case 0x70, 0x71, 0x72, 0x73, 0xa4, 0xac, 0xba, 0xc2, 0xc4, 0xc5, 0xc6:
		return true
	}
	return false
}

// modRMLen is the length of a ModRM byte with SIB and displacement; 0 if cut short.
func modRMLen(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	mod, rm, n := b[0]>>6, b[0]&7, 1
	if mod == 3 {
		return 1
	}
	base := rm
	if rm == 4 {
		if len(b) < 2 {
			return 0
		}
		base = b[1] & 7
		n = 2
	}
	switch {
	case mod == 1:
		n++
	case mod == 2, mod == 0 && base == 5:
		n += 4
	}
	if n > len(b) {
		return 0
	}
	return n
}
