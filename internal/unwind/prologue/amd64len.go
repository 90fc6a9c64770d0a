package prologue

import "encoding/binary"

// The parts of an amd64 instruction, without its meaning: Intel SDM volume 2, chapter 2 and
// the opcode maps of its appendix A.

// layout is where an instruction's parts are, as offsets.
type layout struct {
	len      int // 0: no instruction; -1: the bytes end before it does
	op       int // the opcode's last byte
	modrm    int // 0: no ModRM byte
	maps     uint8
	rex      uint8 // REX, or what says the same in VEX and EVEX
	vvvv     uint8 // the further register of VEX and EVEX, else regNone
	operand  bool  // prefix 66
	address  bool  // prefix 67
	segment  bool  // prefix 64 or 65
	repeated byte  // prefix F2 or F3
}

// Opcode maps.
const (
	mapOne uint8 = iota // opcodes of one byte
	map0F
	map0F38
	map0F3A
	mapVEX = 0x10 // added for VEX and EVEX
)

// What follows an opcode. x: no instruction. p: a prefix. 0: the next map, V: VEX. m: ModRM.
// b: 8 bits, w: 16, z: 32 or 16 by prefix 66, d: 32, v: z or 64 by REX.W, a: an address,
// e: enter's 24. B, Z: ModRM, then b or z; T: test's group.
const (
	opcodesOne = "mmmmbzxxmmmmbzx0" + "mmmmbzxxmmmmbzxx" + "mmmmbzpxmmmmbzpx" + "mmmmbzpxmmmmbzpx" +
		"pppppppppppppppp" + "................" + "xxVmppppzZbB...." + "bbbbbbbbbbbbbbbb" +
		"BZxBmmmmmmmmmmmm" + "..........x....." + "aaaa....bz......" + "bbbbbbbbvvvvvvvv" +
		"BBw.VVBZe.w..bx." + "mmmmxxx.mmmmmmmm" + "bbbbbbbbddxb...." + "p.pp..TT......mm"
	opcodes0F = "mmmmx.....x.xm.B" + "mmmmmmmmmmmmmmmm" + "mmmmxxxxmmmmmmmm" + "......x.0x0xxxxx" +
		"mmmmmmmmmmmmmmmm" + "mmmmmmmmmmmmmmmm" + "mmmmmmmmmmmmmmmm" + "BBBBmmm.mmxxmmmm" +
		"dddddddddddddddd" + "mmmmmmmmmmmmmmmm" + "...mBmxx...mBmmm" + "mmmmmmmmmmBmmmmm" +
		"mmBmBBBm........" + "mmmmmmmmmmmmmmmm" + "mmmmmmmmmmmmmmmm" + "mmmmmmmmmmmmmmmm"
)

// LengthAMD64 is the length of the instruction that code begins with, 0 or less if there is none. It knows more than x86asm, which
// names instructions.
func LengthAMD64(code []byte) int { return layoutAMD64(code).len }

// layoutAMD64 takes the instruction that src begins with apart.
func layoutAMD64(src []byte) (l layout) {
	l.vvvv = regNone
	at := 0
	for ; at < len(src) && at < maxInstruction && legacyPrefix(src[at]); at++ {
		switch b := src[at]; b {
		case 0x66:
			l.operand = true
		case 0x67:
			l.address = true
		case 0x64, 0x65:
			l.segment = true
		case 0xf2, 0xf3:
			l.repeated = b
		}
	}
	if at < len(src) && src[at]&0xf0 == 0x40 {
		l.rex = src[at]
		at++
	}
	if at >= len(src) {
		return l.cut()
	}
	kind := opcodesOne[src[at]]
	switch kind {
	case '0':
		at++
		if at >= len(src) {
			return l.cut()
		}
		l.maps, kind = map0F, opcodes0F[src[at]]
		if kind == '0' {
			l.maps, kind = map0F38, 'm'
			if src[at] == 0x3a {
				l.maps, kind = map0F3A, 'B'
			}
			at++
		}
	case 'V':
		if l.rex != 0 || l.operand || l.repeated != 0 {
			return layout{}
		}
		if at, kind = l.vector(src, at); kind == 'x' {
			return layout{}
		}
	case 'p':
		return layout{}
	}
	if at >= len(src) {
		return l.cut()
	}
	l.op = at
	return l.operands(src, at+1, kind)
}

func (l *layout) cut() layout { return layout{len: -1} }

// vector reads VEX or EVEX, and returns the opcode's place and what follows it.
func (l *layout) vector(src []byte, at int) (op int, kind byte) {
	size := 2
	switch src[at] {
	case 0xc4:
		size = 3
	case 0x62:
		size = 4
	}
	if at+size >= len(src) {
		return len(src), 'm'
	}
	inverted := src[at+1]
	l.maps = mapVEX | map0F
	l.rex = ^inverted >> 5 & 4
	if size > 2 {
		l.rex = ^inverted>>5&7 | src[at+2]>>4&8
		l.vvvv = ^src[at+2] >> 3 & 15
		if l.maps = inverted & 31; size == 4 {
			l.maps = inverted & 7
		}
		l.maps |= mapVEX
	} else {
		l.vvvv = ^inverted >> 3 & 15
	}
	op = at + size
	switch l.maps {
	case mapVEX | map0F:
		switch kind = 'm'; src[op] {
		case 0x77:
			kind = '.'
		case 0x70, 0x71, 0x72, 0x73, 0xc2, 0xc4, 0xc5, 0xc6:
			kind = 'B'
		}
		return op, kind
	case mapVEX | map0F38, mapVEX | 5, mapVEX | 6:
		return op, 'm'
	case mapVEX | map0F3A:
		return op, 'B'
	}
	return op, 'x'
}

// operands adds what follows the opcode; at is behind that.
func (l *layout) operands(src []byte, at int, kind byte) layout {
	switch kind {
	case 'x':
		return layout{}
	case 'm', 'B', 'Z', 'T':
		n := modRMLen(src[at:])
		if n == 0 {
			return l.cut()
		}
		l.modrm = at
		at += n
		if l.isInvalid(src[l.op], src[l.modrm]) {
			return layout{}
		}
	}
	at += l.immediate(src, kind)
	switch {
	case at > maxInstruction:
		return layout{}
	case at > len(src):
		return l.cut()
	}
	l.len = at
	return *l
}

// immediate is how many bytes of numbers end the instruction.
func (l *layout) immediate(src []byte, kind byte) int {
	wide := 4
	if l.operand && l.rex&8 == 0 {
		wide = 2
	}
	switch kind {
	case 'b', 'B':
		return 1
	case 'w':
		return 2
	case 'e':
		return 3
	case 'd':
		return 4
	case 'z', 'Z':
		return wide
	case 'v':
		if l.rex&8 != 0 {
			return 8
		}
		return wide
	case 'a':
		if l.address {
			return 4
		}
		return 8
	case 'T':
		switch {
		case src[l.modrm]>>3&7 > 1:
			return 0
		case src[l.op] == 0xf6:
			return 1
		}
		return wide
	}
	return 0
}

// isInvalid reports whether a ModRM byte makes no instruction of an opcode.
func (l *layout) isInvalid(op, modrm byte) bool {
	reg := modrm >> 3 & 7
	if l.maps != mapOne {
		return false
	}
	switch op {
	case 0x8d: // lea of a register
		return modrm>>6 == 3
	case 0x8f, 0xc6, 0xc7:
		return reg != 0 && (op == 0x8f || modrm != 0xf8)
	case 0xfe:
		return reg > 1
	case 0xff:
		return reg == 7
	}
	return false
}

func legacyPrefix(b byte) bool {
	switch b {
	case 0x66, 0x67, 0xf0, 0xf2, 0xf3, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65:
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

// AMD64 decodes the instruction that src begins with, at address addr. Whatever their
// prefixes say, near branches have 64-bit operands and offsets of 8 or 32 bits (Intel SDM
// volume 2, CALL and JMP; AMD differs for 66, which no compiler relies on).
func (d *Decoder) AMD64(src []byte, addr uint64) Insn {
	l := layoutAMD64(src)
	switch {
	case l.len < 0 && len(src) > 0:
		return Insn{Flow: FlowStop, Len: len(src)} // as filler behind a call that does not return
	case l.len <= 0:
		return Insn{Flow: FlowUnknown, Len: 1}
	}
	out := Insn{Flow: l.flow(src), Len: l.len}
	next := addr + uint64(l.len)
	switch out.Flow {
	case FlowCond, FlowCall, FlowJump:
		if rel := l.len - l.op - 1; rel >= 4 {
			out.Target = next + uint64(int64(int32(binary.LittleEndian.Uint32(src[l.len-4:]))))
		} else {
			out.Target = next + uint64(int64(int8(src[l.len-1])))
		}
	case FlowCallIndirect, FlowJumpIndirect, FlowNext:
		if l.modrm == 0 || l.maps != mapOne || src[l.modrm]&0xc7 != 5 || l.segment {
			break
		}
		to := next + uint64(int64(int32(binary.LittleEndian.Uint32(src[l.modrm+1:]))))
		if out.Flow != FlowNext {
			out.Pointer = to
		} else if src[l.op] == 0x8d {
			out.Refers = to
		}
	}
	return out
}

// flow is how an instruction passes control on.
func (l *layout) flow(src []byte) Flow {
	op := src[l.op]
	switch l.maps {
	case mapOne:
		return l.flowOne(op, src)
	case map0F:
		switch op {
		case 0x0b, 0xb9, 0xff, 0x07, 0x35: // ud2, ud1, ud0, sysret, sysexit
			return FlowStop
		}
		if op&0xf0 == 0x80 {
			return FlowCond
		}
	}
	return FlowNext
}

func (l *layout) flowOne(op byte, src []byte) Flow {
	switch op {
	case 0xe8:
		return FlowCall
	case 0xe9, 0xeb:
		return FlowJump
	case 0xc2, 0xc3:
		return FlowReturn
	case 0xca, 0xcb, 0xcf, 0xf4: // far returns, hlt
		return FlowStop
	case 0xe0, 0xe1, 0xe2, 0xe3:
		return FlowCond
	case 0xc7:
		if src[l.modrm] == 0xf8 { // xbegin
			return FlowCond
		}
	case 0xff:
		switch src[l.modrm] >> 3 & 7 {
		case 2:
			return FlowCallIndirect
		case 4:
			return FlowJumpIndirect
		case 5:
			return FlowStop
		}
	}
	if op&0xf0 == 0x70 {
		return FlowCond
	}
	return FlowNext
}
