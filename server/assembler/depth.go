package assembler

import (
	"encoding/binary"
	"fmt"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/callsite"
	"golang.org/x/arch/x86/x86asm"
)

// asmcgocall calls C on the system stack, and keeps there how to come back: the
// goroutine and the distance of its SP from its stack's top, since the stack may
// be copied meanwhile; or, where it was on the system stack already, the old SP
// itself. The code behind the call reads them back, and so tells where they are.
//
// Situation: the frame pointer that C gives back is the one that asmcgocall had
// when it called C, or not even that. Examples: C calls Go back, whose stack
// grows and moves: the frame pointers that C has saved point to the old stack; C
// code that uses rbp for data and has no tables; Go on arm64, where asmcgocall
// loads another frame pointer. A slot that Delve knows by number has moved
// before. What handles it: stepDepth. Tests: TestDepth; in integration,
// TestSwitches (grown), TestARM64; in integration/stepping, "asmcgocall, the stack
// moves".

// depthSlots says where asmcgocall keeps what, in bytes from its SP.
type depthSlots struct {
	old   int64 // the SP itself (g < 0), or its distance from the stack's top
	g     int64 // the goroutine
	topAt int64 // offset of the stack's top in the goroutine
}

// stepDepth leaves a frame of asmcgocall that has called C. It says false where
// the way back cannot be read; the frame pointer may do then.
func (w *walker) stepDepth(fn Function) bool {
	f, arch := w.last(), w.target.Arch
	slots, ok := w.depthSlots(fn)
	if !ok {
		return false
	}
	sp, _ := f.Registers.SP(arch)
	old, ok := w.word(sp + uint64(slots.old))
	if !ok {
		return false
	}
	rule := fmt.Sprintf("sp'=[sp+%d]", slots.old)
	if slots.g >= 0 {
		top, ok := w.stackTop(sp, &slots)
		if !ok {
			return false
		}
		rule = fmt.Sprintf("sp'=g.stack.hi-[sp+%d]", slots.old)
		old = top - old
	}
	if arch == unwind.ARM64 {
		old -= 8
	}
	step, err := w.target.stepFromFrame(fn, old)
	if err != nil {
		return false
	}
	step.Rule = rule + "; " + step.Rule
	pc, _ := step.Caller.PC(arch)
	if callee, ok := w.calleeBefore(pc); !ok || callee.Start != fn.Start {
		return false // the slots hold something else
	}
	return w.take(unwind.StrategyGopclntab, &step, true)
}

// maxDepthCode is more than asmcgocall takes, in bytes, to go back to the
// goroutine's stack.
const maxDepthCode = 96

// depthSlots reads where asmcgocall keeps the way back from the code behind its
// call of C. An innermost frame may have executed some of that.
func (w *walker) depthSlots(fn Function) (depthSlots, bool) {
	f, arch := w.last(), w.target.Arch
	pc := f.PC.Raw()
	if f.PC.Kind() == unwind.KindReturn {
		s, _, ok := readDepthSlots(arch, w.target.Code.Bytes(pc, maxDepthCode))
		return s, ok
	}
	for ra := pc; ra > fn.Start && pc-ra < maxDepthCode; ra-- {
		if _, call := callTarget(arch, ra, w.target.Code); !call {
			continue
		}
		if s, n, ok := readDepthSlots(arch, w.target.Code.Bytes(ra, maxDepthCode)); ok && pc <= ra+n {
			return s, true
		}
	}
	return depthSlots{}, false
}

// stackTop reads the top of the stack of the goroutine that the slot names: from
// its runtime.g, or where that cannot be read from what is known of the thread.
func (w *walker) stackTop(sp uint64, slots *depthSlots) (uint64, bool) {
	g, ok := w.word(sp + uint64(slots.g))
	if !ok || g == 0 {
		return 0, false
	}
	if top, ok := w.word(g + uint64(slots.topAt)); ok {
		return top, true
	}
	if s := w.thread.Saved; s != nil && s.G == g {
		for _, segment := range w.thread.Segments {
			if segment.Kind == unwind.SegmentGoroutine {
				return segment.High, true
			}
		}
	}
	return 0, false
}

// readDepthSlots reads the code behind the call. Up to and including the
// instruction at offset n SP is what it was at the call.
func readDepthSlots(arch unwind.Arch, code []byte) (s depthSlots, n uint64, ok bool) {
	switch arch {
	case unwind.AMD64:
		return readDepthAMD64(code)
	case unwind.ARM64:
		return readDepthARM64(code)
	}
	return s, 0, false
}

// readDepthAMD64 reads, from the code behind the call on:
//
//	mov g(%rsp),%rdi; mov topAt(%rdi),%rsi; sub old(%rsp),%rsi; ...; mov %rsi,%rsp
//	mov old(%rsp),%rsi; mov %rsi,%rsp
func readDepthAMD64(code []byte) (s depthSlots, n uint64, ok bool) {
	const unread = -1
	s = depthSlots{old: unread, g: unread, topAt: unread}
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
			if s.g == unread {
				s.old = int64(loaded)
			}
			return s, n, s.old >= 0 && (s.g < 0 || s.topAt >= 0)
		case inst.Op == x86asm.MOV && isMem && from.Base == x86asm.RSP:
			loaded, g = int(from.Disp), to
		case inst.Op == x86asm.MOV && isMem && loaded >= 0 && from.Base == g && s.topAt < 0:
			s.topAt = from.Disp
		case inst.Op == x86asm.SUB && isMem && from.Base == x86asm.RSP:
			s.old, s.g = from.Disp, int64(loaded)
		}
	}
}

// readDepthARM64 reads, from the code behind the call on:
//
//	ldr x28,[sp,#g]; ...; ldr x5,[x28,#topAt]; ldr x6,[sp,#old]; sub x5,x5,x6; ...; mov sp,x5
//	ldr x2,[sp,#old]; mov sp,x2
func readDepthARM64(code []byte) (s depthSlots, n uint64, ok bool) {
	const (
		ldr, ldrMask     = 0xf9400000, 0xffc00000 // LDR Xt, [Xn, #imm12*8]
		movSP, movSPMask = 0x9100001f, 0xfffffc1f // MOV SP, Xn
		regG, regSP      = 28, 31
	)
	s = depthSlots{old: -1, g: -1, topAt: -1}
	for ; n+4 <= uint64(len(code)); n += 4 {
		word := binary.LittleEndian.Uint32(code[n:])
		switch to, base, off := word&31, word>>5&31, int64(word>>10&0xfff)*8; {
		case word&movSPMask == movSP:
			return s, n, s.old >= 0 && (s.g < 0 || s.topAt >= 0)
		case word&ldrMask != ldr:
		case base == regSP && to == regG:
			s.g = off
		case base == regSP:
			s.old = off
		case base == regG:
			s.topAt = off
		}
	}
	return s, n, false
}

// callTarget gives where the direct call right before a return address goes to.
func callTarget(arch unwind.Arch, pc uint64, code CodeMap) (uint64, bool) {
	const most = 5
	for _, call := range callsite.Before(arch, code.Bytes(pc-most, most), pc) {
		if call.Direct {
			return call.Target, true
		}
	}
	return 0, false
}
