package gocode

import (
	"encoding/binary"

	"github.com/clewdbg/clew/unwind"
	"golang.org/x/arch/x86/x86asm"
)

// WayBack is the place of asmcgocall's data for the return from C, in bytes from
// its SP.
type WayBack struct {
	Old   int64 // the SP itself (G < 0), or its distance from the stack's top
	G     int64 // the goroutine
	TopAt int64 // offset of the stack's top in the goroutine
}

// ReadWayBack reads it from asmcgocall's code behind the call of C on; ok is
// false for unknown code. Up to and including the instruction at offset n SP is
// the same as at the call.
func ReadWayBack(arch unwind.Arch, code []byte) (s WayBack, n uint64, ok bool) {
	switch arch {
	case unwind.AMD64:
		return wayBackAMD64(code)
	case unwind.ARM64:
		return wayBackARM64(code)
	}
	return s, 0, false
}

// wayBackAMD64 reads, from the code behind the call on:
//
//	mov g(%rsp),%rdi; mov topAt(%rdi),%rsi; sub old(%rsp),%rsi; ...; mov %rsi,%rsp
//	mov old(%rsp),%rsi; mov %rsi,%rsp
func wayBackAMD64(code []byte) (s WayBack, n uint64, ok bool) {
	const unread = -1
	s = WayBack{Old: unread, G: unread, TopAt: unread}
	loaded, g := unread, x86asm.Reg(0)
	var inst x86asm.Inst
	for ; ; n += uint64(inst.Len) {
		var err error
		if inst, err = x86asm.Decode(code[n:], 64); err != nil {
			return s, n, false
		}
		to, isReg := inst.Args[0].(x86asm.Reg)
		from, isMem := inst.Args[1].(x86asm.Mem)
		isMem = isMem && from.Index == 0 && from.Segment == 0
		switch {
		case !isReg:
		case inst.Op == x86asm.MOV && to == x86asm.RSP:
			if s.G == unread {
				s.Old = int64(loaded)
			}
			return s, n, s.Old >= 0 && (s.G < 0 || s.TopAt >= 0)
		case inst.Op == x86asm.MOV && isMem && from.Base == x86asm.RSP:
			loaded, g = int(from.Disp), to
		case inst.Op == x86asm.MOV && isMem && loaded >= 0 && from.Base == g && s.TopAt < 0:
			s.TopAt = from.Disp
		case inst.Op == x86asm.SUB && isMem && from.Base == x86asm.RSP:
			s.Old, s.G = from.Disp, int64(loaded)
		}
	}
}

// wayBackARM64 reads, from the code behind the call on:
//
//	ldr x28,[sp,#g]; ...; ldr x5,[x28,#topAt]; ldr x6,[sp,#old]; sub x5,x5,x6; ...; mov sp,x5
//	ldr x2,[sp,#old]; mov sp,x2
func wayBackARM64(code []byte) (s WayBack, n uint64, ok bool) {
	const (
		ldr, ldrMask     = 0xf9400000, 0xffc00000 // LDR Xt, [Xn, #imm12*8]
		movSP, movSPMask = 0x9100001f, 0xfffffc1f // MOV SP, Xn
		regG, regSP      = 28, 31
	)
	s = WayBack{Old: -1, G: -1, TopAt: -1}
	for ; n+4 <= uint64(len(code)); n += 4 {
		word := binary.LittleEndian.Uint32(code[n:])
		switch to, base, off := word&31, word>>5&31, int64(word>>10&0xfff)*8; {
		case word&movSPMask == movSP:
			return s, n, s.Old >= 0 && (s.G < 0) == (s.TopAt < 0)
		case word&ldrMask != ldr:
		case base == regSP && to == regG:
			s.G = off
		case base == regSP:
			s.Old = off
		case base == regG:
			s.TopAt = off
		}
	}
	return s, n, false
}
