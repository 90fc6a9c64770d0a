package assembler

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
)

// Go's assembly may enter generated code that runs on a stack of its own, in memory of the
// heap. That code keeps Go's stack and frame pointers in a structure that was passed to the assembly,
// and takes them from there before it returns to Go (R14).
//
// Situation: a frame of generated code shows no way to its caller: its frame pointer is 0,
// and it returns to another stack. Example: wazero's entry preamble, which ends in
// "mov 16(%rdx),%rbp; mov 24(%rdx),%rsp; ret". The registers are lost by then, but the
// structure's address is on the goroutine's stack, where the assembly was called with it,
// and the structure says that it was this very call. Test: TestEntered.

// wayOut is where code takes the stack pointer and the frame pointer of its caller from.
type wayOut struct {
	base   uint8 // the register with the structure's address
	sp, fp uint64
}

// maxWayOut is how much code may lie between a call and the way out, in bytes: results are
// stored there.
const maxWayOut = 512

// readWayOut reads code behind a call: no branches up to three instructions that take rbp and rsp
// from one structure and return.
func readWayOut(code []byte) (out wayOut, ok bool) {
	var d prologue.Decoder
	for len(code) > 0 {
		if base, off, n := loads(code, 5 /* rbp */); n > 0 {
			if other, sp, m := loads(code[n:], 4 /* rsp */); m > 0 && other == base && len(code) > n+m && code[n+m] == 0xc3 {
				return wayOut{base, sp, off}, true
			}
		}
		in := d.AMD64(code, 0)
		if in.Flow != prologue.FlowNext || in.Len > len(code) {
			return out, false
		}
		code = code[in.Len:]
	}
	return out, false
}

// loads reads "mov off(%base),%reg" with operands of 64 bits (Intel SDM volume 2, MOV, opcode 8B);
// size is 0 if it is another instruction.
func loads(code []byte, reg byte) (base uint8, off uint64, size int) {
	if len(code) < 7 || code[0]&0xfe != 0x48 || code[1] != 0x8b || code[2]>>3&7 != reg || code[2]&7 == 4 {
		return 0, 0, 0
	}
	base = code[2]&7 | code[0]&1<<3
	switch code[2] >> 6 {
	case 1:
		return base, uint64(int8(code[3])), 4
	case 2:
		return base, uint64(int32(binary.LittleEndian.Uint32(code[3:]))), 7
	}
	return 0, 0, 0
}

// entered is a call of Go's assembly that has entered generated code.
type entered struct {
	at, ra    uint64 // where its return address lies, and which
	structure uint64
	fp        uint64
}

// Bounds on the search for that call, in bytes of stack, and on its arguments, in words.
const (
	maxEnteredStack = 8 << 20
	maxEnteredArgs  = 8
)

// leaveEntered leaves a frame of generated code that Go's assembly has entered.
func (w *walker) leaveEntered(_ context.Context) outcome {
	f, arch := w.last(), w.target.Arch
	if arch != unwind.AMD64 || f.PC.Kind() != unwind.KindReturn || w.code.functionOf(f).known || len(w.target.Code.Bytes(f.PC.Raw(), 1)) > 0 {
		return nothing
	}
	out, ok := readWayOut(w.code.code(f.PC.Raw(), maxWayOut))
	if !ok {
		return nothing
	}
	calls := w.entered(&out)
	if len(calls) != 1 {
		w.refuse(bySwitch, strategySignal, fmt.Sprintf("it returns to the goroutine's stack, and %d calls there may have led here", len(calls)), 0, 0)
		return nothing
	}
	c := calls[0]
	name := arch.RegisterName(unwind.Register(dwarfOf[out.base]))
	step := unwind.Step{CFA: c.at + 8, CallerKind: unwind.KindReturn, Trust: unwind.TrustCFI,
		Rule: fmt.Sprintf("cfa=[%s%+d]+8; ra=[cfa-8]; fp=[%s%+d]", name, int64(out.sp), name, int64(out.fp))}
	step.Caller.Set(arch.PC(), c.ra)
	step.Caller.Set(arch.SP(), step.CFA)
	step.Caller.Set(arch.FP(), c.fp)
	return w.take(candidate{step: &step, strategy: strategySignal, switches: true, entered: true})
}

// dwarfOf maps the machine's numbers of registers to DWARF's (psABI amd64, figure 3.36).
var dwarfOf = [16]uint8{0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15}

// entered finds the calls of Go's assembly on the goroutine's stack that may have led to
// the last frame: those whose structure is in the register that the way out reads it from,
// or was saved by a callee, as such a register is preserved.
func (w *walker) entered(out *wayOut) (calls []entered) {
	f, arch := w.last(), w.target.Arch
	for _, s := range w.thread.Segments {
		if s.Kind == unwind.SegmentGoroutine {
			w.target.words(s.Low, s.High, maxEnteredArgs, func(at uint64, stack []byte) {
				if c, ok := w.enteredAt(out, s, at, stack); ok {
					calls = append(calls, c)
				}
			})
		}
	}
	kept := make(map[uint64]bool)
	high, _ := f.Registers.SP(arch)
	low := high
	for i := len(w.stack.Frames) - 1; i >= 0 && w.stack.Frames[i].Segment == f.Segment; i-- {
		regs := &w.stack.Frames[i].Registers
		low, _ = regs.SP(arch)
		if v, ok := regs.Get(unwind.Register(dwarfOf[out.base])); ok {
			kept[v] = true
		}
	}
	w.target.words(low, high, 0, func(_ uint64, stack []byte) { kept[w.target.order().Uint64(stack)] = true })
	return slices.DeleteFunc(calls, func(c entered) bool { return !kept[c.structure] })
}

// words calls do with each word of a stack, and so many that follow it.
func (t *Target) words(low, high uint64, behind int, do func(at uint64, stack []byte)) {
	const chunk = 64 << 10
	for at := low; at < high && at-low < maxEnteredStack; at += chunk {
		stack := readUpTo(t.Memory, at, high, chunk+8*behind)
		for i := 0; i+8 <= len(stack) && i < chunk; i += 8 {
			do(at+uint64(i), stack[i:])
		}
	}
}

// enteredAt says whether a return address behind a call of Go's assembly lies at the start of a
// piece of stack, with a structure among the call's arguments that holds its stack pointer.
func (w *walker) enteredAt(out *wayOut, s unwind.Segment, at uint64, stack []byte) (c entered, ok bool) {
	word := func(i int) uint64 { return w.target.order().Uint64(stack[8*i:]) }
	c.at, c.ra = at, word(0)
	if !w.target.Executable.Contains(c.ra) {
		return c, false
	}
	if callee := w.code.directCallee(c.ra); !callee.known || !callee.Go || !callee.Asm {
		return c, false
	}
	for i := 1; i <= min(maxEnteredArgs, len(stack)/8-1); i++ {
		c.structure = word(i)
		if saved, have := w.code.word(c.structure + out.sp); !have || saved != at {
			continue
		}
		fp, have := w.code.word(c.structure + out.fp)
		c.fp = fp
		return c, have && fp > at && fp < s.High
	}
	return c, false
}
