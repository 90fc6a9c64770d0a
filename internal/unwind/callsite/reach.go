package callsite

import (
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
)

// Source is where a [Tracer] has code and pointers from. An error ends the
// query; unknown code is no error.
type Source interface {
	// Code returns up to n original bytes of code from addr on, none where there
	// is no code or it is unknown.
	Code(addr uint64, n int) ([]byte, error)
	// Word reads a pointer from memory; ok is false if it cannot be read.
	Word(addr uint64) (v uint64, ok bool, err error)
}

// Answer tells whether code can lead to a place.
type Answer uint8

// The answers. The zero value is Never.
const (
	Never   Answer = iota // proven, as far as code can
	Unknown               // nothing speaks for it or against it
	Reached               // there is a way
)

// maxInstructions bounds one query. Few functions are larger, and those mostly
// have indirect jumps, so that nothing can be proven about them.
const maxInstructions = 20_000

// instructionSize is an upper bound for the size of an instruction.
const instructionSize = 16

// maxLoop bounds the loop in which a retpoline keeps speculation, in bytes.
const maxLoop = 32

// stubSize bounds the offset of the jump in a stub for a dynamically linked
// function: behind an endbr64.
const stubSize = 8

// Tracer follows code.
type Tracer struct {
	Arch   unwind.Arch
	Source Source
	// Budget is the number of instructions that may be decoded in all; when it is
	// used up, answers are Unknown.
	Budget int

	decoder prologue.Decoder
}

// Reaches reports whether code entered at from can be at the place to without
// having returned: at that instruction, or, if to is a return address, in the
// call before it. Calls are passed by, jumps are followed, those through a
// pointer at a fixed address (a stub for a dynamically linked function, a tail
// call) as the pointer is now. The answer is Unknown on an architecture that is
// not decoded (R17).
func (t *Tracer) Reaches(from uint64, to unwind.CodeAddr) (Answer, error) {
	if forms(t.Arch) == nil {
		return Unknown, nil
	}
	seen := make(map[uint64]struct{})
	work := []uint64{from}
	complete := true
	for len(work) > 0 {
		at := work[len(work)-1]
		work = work[:len(work)-1]
		for {
			if _, again := seen[at]; again {
				break
			}
			if len(seen) >= maxInstructions || t.Budget <= 0 {
				return Unknown, nil
			}
			seen[at] = struct{}{}
			t.Budget--
			if at == to.Raw() && to.Kind() == unwind.KindInstruction {
				return Reached, nil
			}
			code, err := t.Source.Code(at, instructionSize)
			if err != nil {
				return Unknown, err
			}
			in := t.decoder.For(t.Arch, code, at)
			next := at + uint64(in.Len)
			if isCall(in) && next == to.Raw() && to.Kind() == unwind.KindReturn {
				return Reached, nil
			}
			if in.Flow == prologue.FlowCall && t.Arch == unwind.AMD64 && in.Target > next && in.Target-next <= maxLoop {
				if code, err = t.Source.Code(in.Target, instructionSize); err != nil {
					return Unknown, err
				}
				if prologue.ReplacesReturn(code) { // a jump through a register, in a retpoline
					complete = false
					break
				}
			}
			switch in.Flow {
			case prologue.FlowNext, prologue.FlowCall, prologue.FlowCallIndirect:
				at = next
				continue
			case prologue.FlowCond:
				work = append(work, in.Target)
				at = next
				continue
			case prologue.FlowJump:
				at = in.Target
				continue
			case prologue.FlowJumpIndirect:
				target, ok, err := t.pointer(in)
				if err != nil {
					return Unknown, err
				}
				// A stub's pointer never changes once it is bound; any other may have.
				if !ok || at-from > stubSize {
					complete = false
				}
				if ok {
					at = target
					continue
				}
			case prologue.FlowUnknown:
				complete = false
			}
			break
		}
	}
	if complete {
		return Never, nil
	}
	return Unknown, nil
}

func isCall(in prologue.Insn) bool {
	return in.Flow == prologue.FlowCall || in.Flow == prologue.FlowCallIndirect
}

func (t *Tracer) pointer(in prologue.Insn) (uint64, bool, error) {
	if in.Pointer == 0 {
		return 0, false, nil
	}
	return t.Source.Word(in.Pointer)
}

// maxStubs bounds the stubs in a row that [Tracer.Leads] passes.
const maxStubs = 4

// Leads reports whether a call can have led to a place, and returns the start of
// the called function if that is known, else 0: behind stubs and other code that
// does nothing but jump. A pointer may have changed since the call through it, so
// for an indirect call the answer is never Never.
func (t *Tracer) Leads(c Call, to unwind.CodeAddr) (a Answer, entry uint64, err error) {
	target, known := c.Target, c.Direct
	if !known && c.Pointer != 0 {
		if target, known, err = t.Source.Word(c.Pointer); err != nil {
			return Unknown, 0, err
		}
	}
	if !known {
		return Unknown, 0, nil
	}
	if a, err = t.Reaches(target, to); err != nil {
		return Unknown, 0, err
	}
	if a != Reached {
		if !c.Direct {
			a = Unknown
		}
		return a, 0, nil
	}
	entry, err = t.behindStubs(target, to)
	return a, entry, err
}

// behindStubs returns the target of code that only jumps, unless the place is in it.
func (t *Tracer) behindStubs(at uint64, to unwind.CodeAddr) (uint64, error) {
	entry, start := at, at
	for stubs := 0; stubs < maxStubs && at != to.Raw(); {
		code, err := t.Source.Code(at, instructionSize)
		if err != nil {
			return 0, err
		}
		in := t.decoder.For(t.Arch, code, at)
		target, ok := in.Target, in.Flow == prologue.FlowJump
		switch {
		case in.Flow == prologue.FlowJumpIndirect:
			if target, ok, err = t.pointer(in); err != nil {
				return 0, err
			}
		case in.Flow == prologue.FlowNext && at == start && in.Len == 4 && t.Arch == unwind.AMD64: // endbr64
			at += 4
			continue
		}
		if !ok {
			break
		}
		entry, at, start = target, target, target
		stubs++
	}
	return entry, nil
}
