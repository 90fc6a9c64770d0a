package rule

import (
	"encoding/binary"

	"github.com/clewdbg/clew/unwind"
)

// Uses of values, in errors.
const (
	forCFA = "the CFA"
	forRA  = "the return address"
)

// Apply applies the rule to a frame. The errors are those of this package, and
// those of the rule's expressions. If an error is returned, the caller holds what
// was found before: CFA, then return address. It does not allocate where there is
// no error.
//
// A caller holds the registers that the rule proves: PC and SP, registers that
// have a value that can be found, and with Kept those that the C ABI makes every
// function keep.
func (r *Rule) Apply(f *Frame, caller *Caller) error {
	*caller = Caller{Kind: unwind.KindReturn}
	if r.RA.From == Undefined {
		return ErrOutermost
	}
	if r.Signal {
		caller.Kind = unwind.KindInstruction
	}
	s := step{rule: r} // without f, which expressions take: so rules stay on the stack
	if err := s.findCFA(f); err != nil {
		return err
	}
	caller.CFA = s.cfa
	out := &caller.Registers
	pc, lr, fp := r.Arch.PC(), r.Arch.LR(), r.Arch.FP()
	if r.Signal {
		lr = unwind.NoRegister // the caller's still
	}
	out.Set(r.Arch.SP(), s.cfa)
	ra, err := s.returnAddress(f)
	if err != nil {
		return err
	}
	if r.Arch == unwind.ARM64 {
		ra = Strip(ra, f.PACMask)
	}
	out.Set(pc, ra)
	if r.Kept {
		out.Inherit(f.Registers, r.Arch)
	}
	for i := range r.Saved {
		// The return address is the caller's PC. Its link register was overwritten by
		// the call (R10).
		if reg := r.Saved[i].Register; reg != pc && reg != lr && reg.Held() {
			if err := s.restore(f, out, reg, &r.Saved[i].Value); err != nil {
				return err
			}
		}
	}
	return s.restore(f, out, fp, &r.FP)
}

// step is the state of Apply.
type step struct {
	rule     *Rule
	cfa      uint64
	cfaKnown bool
}

// findCFA computes the CFA.
func (s *step) findCFA(f *Frame) error {
	r := s.rule
	var err error
	switch r.CFA.From {
	case Register:
		s.cfa, err = s.value(f, &r.CFA, r.CFA.Register, forCFA)
		if err == nil && r.CFA.Deref {
			s.cfa, err = s.add(s.cfa, r.Add)
		}
	case Expression: // a value, unless Deref: not read from memory
		s.cfa, err = s.expression(f, &r.CFA, false)
	default:
		err = &ImpossibleError{Reason: "there is no rule for the CFA"}
	}
	s.cfaKnown = err == nil
	return err
}

// returnAddress computes the return address, which may be signed.
func (s *step) returnAddress(f *Frame) (uint64, error) {
	r := s.rule
	lr := r.Arch.LR()
	switch {
	case r.RA.From == Lost, r.RA.From == Same && lr == unwind.NoRegister:
		return 0, &ImpossibleError{CFA: s.cfa, Reason: "there is no rule for the return address"}
	case r.RA.From == Same:
		return s.linkRegister(f)
	case r.RA.From == Register && !r.RA.Deref && r.RA.Register == lr:
		return s.linkRegister(f)
	}
	return s.value(f, &r.RA, lr, forRA)
}

// linkRegister returns the return address that is still in the link register.
func (s *step) linkRegister(f *Frame) (uint64, error) {
	lr := s.rule.Arch.LR()
	if s.overwritten(f, lr) {
		return 0, &ImpossibleError{CFA: s.cfa, Reason: "the return address is said to be in " +
			s.rule.Arch.RegisterName(lr) + ", which the frame's call has overwritten (R10)"}
	}
	return s.register(f, lr, forRA)
}

// overwritten says that a register is the link register of a frame that has called:
// the call has overwritten it (R10), unless a signal interrupted the frame.
func (s *step) overwritten(f *Frame, reg unwind.Register) bool {
	return reg == s.rule.Arch.LR() && f.Kind == unwind.KindReturn && !s.rule.Signal
}

// restore sets a register of the caller, or forgets it where its value is lost.
func (s *step) restore(f *Frame, out *unwind.Registers, reg unwind.Register, v *Value) error {
	same := v.From == Same
	if v.When != Always {
		switch {
		case v.When == Unrestored:
			same = same || f.restored(s.rule.Arch, s.cfa)
		case !s.pointed(f, v):
			out.Forget(reg)
			return nil
		}
	}
	switch {
	case same:
		if v, ok := f.Registers.Get(reg); ok {
			out.Set(reg, v)
		} else {
			out.Forget(reg)
		}
		return nil
	case v.From == Lost || v.From == Undefined:
		out.Forget(reg)
		return nil
	}
	got, err := s.value(f, v, reg, "")
	if err != nil {
		if _, lost := err.(*MissingRegister); lost { //nolint:errorlint // made here, never wrapped
			out.Forget(reg)
			return nil // only a later use of it fails
		}
		return err
	}
	out.Set(reg, got)
	return nil
}

// pointed says whether the frame pointer points to a value's place.
func (s *step) pointed(f *Frame, v *Value) bool {
	base := s.cfa
	if v.From == Register {
		base, _ = f.Registers.Get(v.Register)
	}
	fp, ok := f.Registers.FP(s.rule.Arch)
	return ok && fp == base+uint64(v.Offset)
}

// value computes a value that rests on the CFA, a register or an expression. reg
// and its use are for errors.
func (s *step) value(f *Frame, v *Value, reg unwind.Register, what string) (uint64, error) {
	var sum uint64
	var err error
	switch v.From {
	case CFA:
		sum, err = s.add(s.cfa, v.Offset)
	case Register:
		if what == "" {
			what = s.rule.Arch.RegisterName(reg)
		}
		if sum, err = s.register(f, v.Register, what); err == nil {
			sum, err = s.add(sum, v.Offset)
		}
	case Expression:
		return s.expression(f, v, true)
	}
	if err != nil || !v.Deref {
		return sum, err
	}
	return s.word(f, sum)
}

// register returns the frame's value of a register.
func (s *step) register(f *Frame, reg unwind.Register, what string) (uint64, error) {
	if v, ok := f.Registers.Get(reg); ok && !s.overwritten(f, reg) {
		return v, nil
	}
	return 0, &MissingRegister{Register: reg, Name: s.rule.Arch.RegisterName(reg), For: what}
}

func (s *step) expression(f *Frame, v *Value, push bool) (uint64, error) {
	if v.Expr == nil {
		return 0, &ImpossibleError{CFA: s.cfa, Reason: "the expression is missing"}
	}
	sum, err := v.Expr.Evaluate(f, s.cfa, push)
	if err != nil {
		return 0, s.widen(err)
	}
	if !v.Deref {
		return sum, nil
	}
	return s.word(f, sum)
}

func (s *step) add(base uint64, off int64) (uint64, error) {
	return Add(s.rule.Arch, base, off, s.cfa)
}

// word reads a word of memory.
func (s *step) word(f *Frame, addr uint64) (uint64, error) {
	order := binary.ByteOrder(binary.LittleEndian)
	if s.rule.Big {
		order = binary.BigEndian
	}
	size := s.rule.Arch.PointerSize()
	if size == 8 {
		if v, ok := f.Memory.Word(addr, order); ok {
			return v, nil
		}
	} else if v, err := unwind.ReadWord(f.Memory, addr, size, order); err == nil {
		return v, nil
	}
	return 0, s.widen(Need(addr, size))
}

// widen makes an error that asks for memory ask for all that the rule reads around
// the CFA too, so that one more turn is enough.
func (s *step) widen(err error) error {
	missing, ok := err.(*MissingMemory) //nolint:errorlint // made here, never wrapped
	if !ok || !s.cfaKnown {
		return err
	}
	size := uint64(s.rule.Arch.PointerSize())
	grow := func(v *Value) {
		at := s.cfa + uint64(v.Offset)
		if v.From != CFA || !v.Deref || at > at+size {
			return
		}
		wider := unwind.Range{Start: min(at, missing.Range.Start), End: max(at+size, missing.Range.End)}
		if wider.End-wider.Start <= maxNeed {
			missing.Range = wider
		}
	}
	grow(&s.rule.RA)
	grow(&s.rule.FP)
	for i := range s.rule.Saved {
		grow(&s.rule.Saved[i].Value)
	}
	return missing
}
