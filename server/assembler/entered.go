package assembler

import (
	"context"
	"encoding/binary"
	"fmt"

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
	at  uint64 // where its return address lies
	ra  uint64
	fp  uint64
	top bool // it was given the top of the stack that the generated code is on
}

// Bounds on the search for that call.
const (
	maxEnteredStack = 8 << 20 // of a goroutine, in bytes
	maxEnteredArgs  = 8       // words behind the return address
	maxEnteredSlots = 4096    // between a stack's top and the outermost frame, in bytes
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
		w.refuse(strategySignal, fmt.Sprintf("it returns to the goroutine's stack, and %d calls there may have led here", len(calls)), 0, 0)
		return nothing
	}
	c := calls[0]
	name := arch.RegisterName(unwind.Register(dwarfOf[out.base]))
	step := unwind.Step{CFA: c.at + 8, CallerKind: unwind.KindReturn, Trust: unwind.TrustCFI,
		Rule: fmt.Sprintf("cfa=[%s+%d]+8; ra=[cfa-8]; fp=[%s+%d]", name, out.sp, name, out.fp)}
	step.Caller.Set(arch.PC(), c.ra)
	step.Caller.Set(arch.SP(), step.CFA)
	step.Caller.Set(arch.FP(), c.fp)
	return w.take(candidate{step: &step, strategy: strategySignal, switches: true, entered: true})
}

// dwarfOf maps the machine's numbers of registers to DWARF's (psABI amd64, figure 3.36).
var dwarfOf = [16]uint8{0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15}

// entered finds the calls of Go's assembly on the goroutine's stack that may have led to
// the last frame. Where some were given the top of that frame's stack, they count alone.
func (w *walker) entered(out *wayOut) (calls []entered) {
	const chunk = 64 << 10
	for _, s := range w.thread.Segments {
		if s.Kind != unwind.SegmentGoroutine {
			continue
		}
		for at := s.Low; at < s.High && at-s.Low < maxEnteredStack; at += chunk {
			stack := readUpTo(w.target.Memory, at, s.High, chunk+8*(1+maxEnteredArgs))
			for i := 0; i+8 <= len(stack) && i < chunk; i += 8 {
				if c, ok := w.enteredAt(out, s, at+uint64(i), stack[i:]); ok {
					calls = append(calls, c)
				}
			}
		}
	}
	for _, c := range calls {
		if c.top {
			return []entered{c}
		}
	}
	return calls
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
	sp, _ := w.last().Registers.SP(w.target.Arch)
	for i := 1; i <= min(maxEnteredArgs, len(stack)/8-1); i++ {
		if top := word(i); top >= sp && top-sp <= maxEnteredSlots {
			c.top = true
		}
		if saved, have := w.code.word(word(i) + out.sp); ok || !have || saved != at {
			continue
		}
		var have bool
		c.fp, have = w.code.word(word(i) + out.fp)
		ok = have && c.fp > at && c.fp < s.High
	}
	return c, ok
}
