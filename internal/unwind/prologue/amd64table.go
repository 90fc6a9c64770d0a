package prologue

import "golang.org/x/arch/x86/x86asm"

// What amd64 code does for a jump by a table.

// refersAMD64 notes what a call or jump refers to.
func refersAMD64(out *inst, in *x86asm.Inst, off int32) {
	next := int64(off) + int64(in.Len)
	switch a := in.Args[0].(type) {
	case x86asm.Rel:
		out.dest, out.refers = next+int64(a), refersCode
	case x86asm.Mem:
		if a.Base == x86asm.RIP && a.Segment == 0 {
			out.dest, out.refers = next+int64(int32(a.Disp)), refersPointer
		}
	}
}

// jumpAMD64 loads the target of an indirect jump.
func jumpAMD64(p *program, in *x86asm.Inst) {
	switch a := in.Args[0].(type) {
	case x86asm.Reg:
		if r, w := gpr(a); w == 64 {
			p.emit(op{kind: opMov, d: regTmp, s: r})
		}
	case x86asm.Mem:
		loadAMD64(p, in, regTmp, 64, a, true, 0)
	}
}

// loadAMD64 emits a load that may be one of a table's entry, or of an index; false if
// it is another.
func loadAMD64(p *program, in *x86asm.Inst, d uint8, width int, m x86asm.Mem, isMem bool, signed uint64) bool {
	if !isMem || width < 32 {
		return false
	}
	o, ok := addressAMD64(in, m)
	if !ok || in.MemBytes == 8 && m.Index == 0 {
		return false
	}
	o.kind, o.d = opLoadAt, d
	o.mask |= signed
	p.emit(o)
	return true
}

// addressAMD64 makes an operation on memory; ok is false where the address is not one in
// the flat address space, or relative to the instruction.
func addressAMD64(in *x86asm.Inst, m x86asm.Mem) (o op, ok bool) {
	if in.AddrSize != 64 || m.Segment == x86asm.FS || m.Segment == x86asm.GS || in.MemBytes < 1 || in.MemBytes > 8 {
		return o, false
	}
	o = op{s: regNone, t: regNone, imm: int64(int32(m.Disp)), mask: uint64(in.MemBytes) << sizeShift}
	if m.Base != 0 {
		var width int
		if o.s, width = gpr(m.Base); width != 64 {
			return o, false
		}
	}
	if m.Index != 0 {
		var width int
		if o.t, width = gpr(m.Index); width != 64 {
			return o, false
		}
		o.mask |= uint64(m.Scale)
	}
	return o, true
}

// unsigned is an operand of so many bits as a number without a sign.
func unsigned(imm int64, bits int) int64 {
	if bits >= 64 {
		return imm
	}
	return imm & (1<<bits - 1)
}

// leaAMD64 emits a sum that may be a table's address, an index times its entries' size,
// or a table's target.
func leaAMD64(p *program, in *x86asm.Inst, d uint8, m x86asm.Mem) bool {
	switch {
	case in.AddrSize != 64 || m.Segment != 0:
	case m.Base == x86asm.RIP && m.Index == 0:
		p.emit(op{kind: opPlace, d: d, imm: int64(p.at) + int64(in.Len) + int64(int32(m.Disp))})
		return true
	case m.Base == 0 && m.Index != 0 && m.Disp == 0:
		if index, w := gpr(m.Index); w == 64 {
			p.emit(op{kind: opScale, d: d, s: index, imm: int64(m.Scale)})
			return true
		}
	case m.Base != 0 && m.Index != 0 && m.Scale == 1 && m.Disp == 0:
		base, bw := gpr(m.Base)
		if index, w := gpr(m.Index); w == 64 && bw == 64 {
			p.emit(op{kind: opAddReg, d: d, s: base, t: index})
			return true
		}
	}
	return false
}

// ReplacesReturn reports whether code is the end of a retpoline, which replaces the return
// address of the call that leads there with its real target: mov REG,(%rsp); ret.
func ReplacesReturn(code []byte) bool {
	return len(code) >= 5 && code[0]&0xfb == 0x48 && code[1] == 0x89 && code[2]&^0x38 == 4 && code[3] == 0x24 && code[4] == 0xc3
}

// trapsSpeculation reports whether the bytes that a call jumps over are the loop in
// which a retpoline keeps speculation: pauses and fences, and a jump back to them.
func trapsSpeculation(code []byte) bool {
	for n := 0; n < len(code); {
		switch {
		case hasPrefix(code[n:], 0xf3, 0x90), hasPrefix(code[n:], 0x66, 0x90):
			n += 2
		case hasPrefix(code[n:], 0x0f, 0xae, 0xe8):
			n += 3
		case code[n] == 0xcc || code[n] == 0x90:
			n++
		case n > 0 && code[n] == 0xeb && n+1 < len(code):
			back := n + 2 + int(int8(code[n+1]))
			return back >= 0 && back < n && isFiller(code[n+2:])
		default:
			return n > 0 && isFiller(code[n:])
		}
	}
	return len(code) > 0
}

// isFiller reports whether bytes are what stands between pieces of code.
func isFiller(code []byte) bool {
	for len(code) > 0 {
		in, err := x86asm.Decode(code, 64)
		if err != nil || in.Op != x86asm.NOP && in.Op != x86asm.INT {
			return false
		}
		code = code[in.Len:]
	}
	return true
}

func hasPrefix(code []byte, want ...byte) bool {
	return len(code) >= len(want) && string(code[:len(want)]) == string(want)
}
