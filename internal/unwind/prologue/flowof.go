package prologue

import (
	"encoding/binary"

	"github.com/clewdbg/clew/unwind"
)

// Flow says how an instruction passes control on.
type Flow uint8

// The ways in which control is passed on.
const (
	// FlowNext goes on with the next instruction (system calls and traps too).
	FlowNext Flow = iota
	// FlowCond goes on with the next instruction or at Target.
	FlowCond
	// FlowCall calls Target, FlowCallIndirect the address in a register or memory.
	FlowCall
	FlowCallIndirect
	// FlowJump goes on at Target, FlowJumpIndirect where a register or memory says.
	FlowJump
	FlowJumpIndirect
	// FlowReturn returns, FlowStop never goes on.
	FlowReturn
	FlowStop
	// FlowUnknown: the bytes could not be decoded.
	FlowUnknown
)

// Insn is one instruction, as far as the flow of control is concerned.
type Insn struct {
	Flow   Flow
	Len    int
	Target uint64 // of FlowCond, FlowCall, FlowJump
	// Pointer is where FlowCallIndirect or FlowJumpIndirect reads the target from,
	// 0 if that is not a fixed address (amd64: relative to rip; arm64: what the
	// instructions right before have computed, as in a veneer).
	Pointer uint64
	// Refers is the address that the instruction computes relative to its own, 0 if it
	// does not (amd64: lea; arm64: adr, or the sum with what adrp has put into a register).
	Refers uint64
}

// Decoder decodes single instructions. The zero value is ready; it is not safe
// for concurrent use.
type Decoder struct {
	p     program
	pages [32]uint64 // that arm64's registers hold, as far as code was decoded in order
	paged uint32     // the registers that hold one: a library's first page has the address 0
	near  near
}

// near is the address, or the word at one, that the arm64 instructions right before at have put
// into a register.
type near struct {
	at, addr uint64
	reg      uint32
	word     bool
}

var flowOf = [...]Flow{flowNext: FlowNext, flowSoft: FlowNext, flowCall: FlowCallIndirect, flowCond: FlowCond, flowJump: FlowJump,
	flowIndirect: FlowJumpIndirect, flowRet: FlowReturn, flowStop: FlowStop, flowBad: FlowUnknown}

func (d *Decoder) decode(a *arch, src []byte) inst {
	d.p.code, d.p.ops = src, d.p.ops[:0]
	return a.decode(&d.p, 0)
}

// ARM64 decodes the instruction that src begins with, at address addr.
func (d *Decoder) ARM64(src []byte, addr uint64) Insn {
	if len(src) < 4 {
		return Insn{Flow: FlowUnknown, Len: max(len(src), 1)}
	}
	in := d.decode(&arm64Arch, src[:4])
	out := Insn{Flow: flowOf[in.flow], Len: 4}
	w := binary.LittleEndian.Uint32(src)
	switch rd, rn := w&31, w>>5&31; {
	case w&0x9f000000 == 0x90000000: // adrp
		d.pages[rd] = addr&^0xfff + uint64(sext(w>>5&0x7ffff<<2|w>>29&3, 21)<<12)
		d.paged |= 1 << rd &^ (1 << 31) // not the zero register
	case w&0x9f000000 == 0x10000000: // adr
		out.Refers = addr + uint64(sext(w>>5&0x7ffff<<2|w>>29&3, 21))
	case w&0xffc00000 == 0x91000000 && d.paged>>rn&1 != 0: // add
		out.Refers = d.pages[rn] + uint64(w>>10&0xfff)
	case w&0x7c000000 == 0x14000000: // b, bl
		if out.Flow == FlowCallIndirect {
			out.Flow = FlowCall
		}
		out.Target = addr + uint64(sext(w, 26)*4)
	case w&0x7e000000 == 0x36000000: // tbz, tbnz
		out.Target = addr + uint64(sext(w>>5, 14)*4)
	case out.Flow == FlowCond || out.Flow == FlowJump: // cbz, cbnz, b.cond
		out.Target = addr + uint64(sext(w>>5, 19)*4)
	}
	d.follow(w, addr, &out)
	return out
}

// follow takes an instruction of a veneer or stub, which computes where it jumps: adrp, add; adrp,
// ldr; ldr of a literal.
func (d *Decoder) follow(w uint32, addr uint64, out *Insn) {
	n := &d.near
	switch known := n.at == addr && n.addr != 0; {
	case w&0x9f000000 == 0x90000000: // adrp
		*n = near{reg: w & 31, addr: addr&^0xfff + uint64(sext(w>>5&0x7ffff<<2|w>>29&3, 21)<<12)}
	case w&0xff000000 == 0x58000000: // ldr, literal
		*n = near{reg: w & 31, addr: addr + uint64(sext(w>>5, 19)*4), word: true}
	case known && n.computes(w):
	case known && n.reg == w>>5&31 && out.Flow == FlowJumpIndirect && !n.word:
		out.Flow, out.Target = FlowJump, n.addr
	case known && n.reg == w>>5&31 && (out.Flow == FlowJumpIndirect || out.Flow == FlowCallIndirect) && n.word:
		out.Pointer = n.addr
	default:
		*n = near{}
	}
	n.at = addr + 4
}

// computes takes an instruction between the first one and the jump; ok is false for one of another kind.
func (n *near) computes(w uint32) (ok bool) {
	rd, rn := w&31, w>>5&31
	switch {
	case w&0xffc00000 == 0x91000000 && rn == n.reg && !n.word: // add
		n.reg, n.addr = rd, n.addr+uint64(w>>10&0xfff)
	case w&0xffc00000 == 0xf9400000 && rn == n.reg && !n.word: // ldr
		n.reg, n.addr, n.word = rd, n.addr+uint64(w>>10&0xfff)*8, true
	default:
		return w&0xff800000 == 0x91000000 && rd != n.reg // a stub keeps the slot's address too
	}
	return true
}

// For decodes for an architecture; the flow of others is not known.
func (d *Decoder) For(arch unwind.Arch, src []byte, addr uint64) Insn {
	switch arch {
	case unwind.AMD64:
		return d.AMD64(src, addr)
	case unwind.ARM64:
		return d.ARM64(src, addr)
	}
	return Insn{Flow: FlowUnknown, Len: 1}
}

// Padding is the length of the instruction that code begins with, if compilers fill with such
// ones between functions; else 0.
func Padding(arch unwind.Arch, code []byte) int {
	if arch == unwind.ARM64 {
		if len(code) >= 4 && (binary.LittleEndian.Uint32(code) == 0xd503201f || binary.LittleEndian.Uint32(code) == 0) {
			return 4
		}
		return 0
	}
	l := layoutAMD64(code[:min(len(code), maxInstruction)])
	if l.len <= 0 {
		return 0
	}
	switch op := code[l.op]; {
	case l.maps == mapOne && (op == 0x90 || op == 0xcc) && l.repeated == 0, l.maps == map0F && op == 0x1f:
		return l.len
	}
	return 0
}

// TakesDown reports whether an instruction may be the last of those that take a frame down.
func TakesDown(arch unwind.Arch, code []byte) bool {
	if arch != unwind.AMD64 {
		return len(code) == 4 // the simulation tells
	}
	switch {
	case hasPrefix(code, 0x48, 0x83, 0xc4), hasPrefix(code, 0x48, 0x81, 0xc4), hasPrefix(code, 0xc9): // add n,%rsp; leave
		return true
	case len(code) == 2 && code[0] == 0x41:
		code = code[1:]
	}
	return len(code) == 1 && code[0]&0xf8 == 0x58 // pop
}

// Enters reports whether arm64 code begins as a function does: with a landing pad for calls, or by signing or saving
// the return address with the frame pointer in a new frame.
func Enters(code []byte) bool {
	if len(code) < 8 {
		return false
	}
	first, second := binary.LittleEndian.Uint32(code), binary.LittleEndian.Uint32(code[4:])
	switch {
	case first == 0xd503245f, first == 0xd503233f, first == 0xd503237f: // bti c; paciasp; pacibsp
		return true
	case first&0xffe07fff == 0xa9a07bfd: // stp x29, x30, [sp, #-n]!
		return true
	}
	return first&0xff8003ff == 0xd10003ff && second&0xffe07fff == 0xa9007bfd // sub sp, sp, #n; stp x29, x30, [sp, #m]
}
