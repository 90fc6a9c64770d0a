package prologue

import (
	"encoding/binary"

	"golang.org/x/arch/x86/x86asm"
)

// Most instructions have no prefix but REX, and one of few opcodes. These are decoded here, as x86asm does
// but in a fraction of its time.

var (
	arithmeticAMD64 = [8]x86asm.Op{x86asm.ADD, x86asm.OR, x86asm.ADC, x86asm.SBB, x86asm.AND, x86asm.SUB, x86asm.XOR, x86asm.CMP}
	jumpsAMD64      = [16]x86asm.Op{
		x86asm.JO, x86asm.JNO, x86asm.JB, x86asm.JAE, x86asm.JE, x86asm.JNE, x86asm.JBE, x86asm.JA,
		x86asm.JS, x86asm.JNS, x86asm.JP, x86asm.JNP, x86asm.JL, x86asm.JGE, x86asm.JLE, x86asm.JG,
	}
)

// quick decodes an instruction into the parts that the simulation asks for.
type quick struct {
	*layout
	src  []byte
	in   *x86asm.Inst
	base x86asm.Reg // the first register of the operands' size
	size int        // of operands, in bytes
}

// quickAMD64 reports whether the instruction is one of those.
func quickAMD64(src []byte, l *layout, in *x86asm.Inst) bool {
	prefix := int(l.maps)
	if l.rex != 0 {
		prefix++
	}
	if l.len <= 0 || l.maps > map0F || l.op != prefix {
		return false
	}
	in.Len, in.AddrSize, in.DataSize = l.len, 64, 32
	q := quick{layout: l, src: src, in: in, base: x86asm.EAX, size: 4}
	if l.rex&8 != 0 {
		q.base, q.size, in.DataSize = x86asm.RAX, 8, 64
	}
	if l.maps == map0F {
		in.Op = q.long(src[l.op])
	} else {
		in.Op = q.short(src[l.op])
	}
	return in.Op != 0
}

// long decodes opcodes of map 0F.
func (q *quick) long(op byte) x86asm.Op {
	switch {
	case op&0xf0 == 0x80:
		return q.jump(jumpsAMD64[op&15])
	case op == 0x1f && q.size == 4 && q.src[q.modrm]&0x38 == 0:
		q.in.Args[0] = q.operand(q.base, q.size)
		return x86asm.NOP
	case op == 0xb6 || op == 0xbe || op == 0xb7 || op == 0xbf:
		from, size := x86asm.AL, 1
		if op&1 != 0 {
			from, size = x86asm.AX, 2
		}
		q.in.Args[0], q.in.Args[1] = q.register(), q.operand(from, size)
		if op < 0xb8 {
			return x86asm.MOVZX
		}
		return x86asm.MOVSX
	}
	return 0
}

// short decodes opcodes of one byte.
func (q *quick) short(op byte) x86asm.Op {
	args, name := &q.in.Args, shortAMD64[op]
	switch {
	case op < 0x40 && op&7 == 1, op == 0x85, op == 0x89:
		args[0], args[1] = q.operand(q.base, q.size), q.register()
	case op < 0x40 && op&7 == 3, op == 0x8b, op == 0x8d:
		args[0], args[1] = q.register(), q.operand(q.base, q.size)
	case op == 0x63 && q.size == 8:
		args[0], args[1] = q.register(), q.operand(x86asm.EAX, 4)
	case op&0xf0 == 0x50:
		args[0] = x86asm.RAX + x86asm.Reg(op&7|q.rex<<3&8)
	case op&0xf0 == 0x70, op == 0xeb, op == 0xe8, op == 0xe9:
		return q.jump(name)
	case op == 0x81, op == 0x83:
		name = arithmeticAMD64[q.src[q.modrm]>>3&7]
		args[0], args[1] = q.operand(q.base, q.size), x86asm.Imm(q.number())
	case op == 0xc7 && q.src[q.modrm]&0x38 == 0:
		args[0], args[1] = q.operand(q.base, q.size), x86asm.Imm(q.number())
	case op&0xf8 == 0xb8 && q.size == 4:
		args[0], args[1] = q.base+x86asm.Reg(op&7|q.rex<<3&8), x86asm.Imm(q.number())
	case op != 0xc3 && (op != 0x90 || q.rex != 0):
		return 0
	}
	return name
}

// shortAMD64 are the opcodes of one byte that are decoded here.
var shortAMD64 = makeShort()

func makeShort() (out [256]x86asm.Op) {
	for i, op := range arithmeticAMD64 {
		out[8*i+1], out[8*i+3] = op, op
	}
	for i := range 8 {
		out[0x50+i], out[0x58+i], out[0xb8+i] = x86asm.PUSH, x86asm.POP, x86asm.MOV
	}
	copy(out[0x70:], jumpsAMD64[:])
	out[0x63], out[0x85], out[0x89], out[0x8b], out[0x8d], out[0x90] = x86asm.MOVSXD, x86asm.TEST, x86asm.MOV, x86asm.MOV, x86asm.LEA, x86asm.NOP
	out[0xc3], out[0xc7], out[0xe8], out[0xe9], out[0xeb] = x86asm.RET, x86asm.MOV, x86asm.CALL, x86asm.JMP, x86asm.JMP
	return out
}

// jump is a jump or call by as many bytes as end the instruction.
func (q *quick) jump(op x86asm.Op) x86asm.Op {
	q.in.Args[0] = x86asm.Rel(q.number())
	return op
}

// number is what follows the opcode, or ends the operands: 8 or 32 bits.
func (q *quick) number() int64 {
	switch op := q.src[q.op]; {
	case q.maps == mapOne && (op == 0x83 || op == 0xeb || op&0xf0 == 0x70):
		return int64(int8(q.src[q.len-1]))
	default:
		return int64(int32(binary.LittleEndian.Uint32(q.src[q.len-4:])))
	}
}

// register is the operand that the middle of ModRM names.
func (q *quick) register() x86asm.Reg {
	return q.base + x86asm.Reg(q.src[q.modrm]>>3&7|q.rex<<1&8)
}

// operand is the one that ModRM's other parts name: a register of a size, or memory.
func (q *quick) operand(base x86asm.Reg, size int) x86asm.Arg {
	mod, rm := q.src[q.modrm]>>6, q.src[q.modrm]&7
	if mod == 3 {
		if base == x86asm.AL && q.rex != 0 && rm >= 4 && q.rex&1 == 0 {
			return x86asm.SPB + x86asm.Reg(rm-4)
		}
		if base == x86asm.AL && q.rex&1 != 0 {
			return x86asm.R8B + x86asm.Reg(rm)
		}
		return base + x86asm.Reg(rm|q.rex<<3&8)
	}
	var m x86asm.Mem
	at := q.modrm + 1
	switch {
	case rm == 4:
		sib := q.src[at]
		at++
		m.Scale = 1 << (sib >> 6)
		if index := sib>>3&7 | q.rex<<2&8; index != 4 {
			m.Index = x86asm.RAX + x86asm.Reg(index)
		}
		if rm = sib & 7; mod != 0 || rm != 5 {
			m.Base = x86asm.RAX + x86asm.Reg(rm|q.rex<<3&8)
		}
	case mod == 0 && rm == 5:
		m.Base = x86asm.RIP
	default:
		m.Base = x86asm.RAX + x86asm.Reg(rm|q.rex<<3&8)
	}
	switch {
	case mod == 1:
		m.Disp = int64(int8(q.src[at]))
	case mod == 2 || rm == 5 && mod == 0:
		m.Disp = int64(binary.LittleEndian.Uint32(q.src[at:]))
	}
	if q.in.MemBytes = size; q.src[q.op] == 0x8d {
		q.in.MemBytes = 0
	}
	return m
}
