package sframe

import (
	"encoding/binary"

	"github.com/clewdbg/clew/internal/unwind/apply"
	"github.com/clewdbg/clew/unwind"
)

// Unwind applies the row's rules to a frame. The errors are those of package
// apply. It does not allocate where there is no error.
//
// A caller has a program counter, a stack pointer and, where it can be had, a
// frame pointer. SFrame says of no other register whether a function changes it,
// so none is known after a step.
func (r *Row) Unwind(f *apply.Frame, caller *apply.Caller) error {
	if r.RA.Kind == Undefined {
		return apply.ErrOutermost
	}
	if r.CFA.Kind == Unchanged { // a hole, or a signal's frame without a rule
		return &apply.ImpossibleError{Reason: "there is no rule for the CFA"}
	}
	e := evaluation{row: r, frame: f}
	var err error
	if e.cfa, err = e.value(r.CFA, r.arch.SP(), "the CFA"); err != nil {
		return err
	}
	e.cfaKnown = true
	ra, err := e.value(r.RA, r.arch.LR(), "the return address")
	if err != nil {
		return err
	}
	*caller = apply.Caller{CFA: e.cfa, Kind: unwind.KindReturn}
	if r.Signal {
		caller.Kind = unwind.KindInstruction
	}
	sp := e.cfa
	if r.arch == unwind.S390X {
		if sp, err = apply.Add(sp, -biasS390X, e.cfa); err != nil {
			return err
		}
	}
	caller.Registers.Set(r.arch.SP(), sp)
	if r.arch == unwind.ARM64 {
		ra = apply.Strip(ra, f.PACMask)
	}
	caller.Registers.Set(r.arch.PC(), ra)
	rule := r.FP
	if own := (Rule{Kind: FromRegister, Deref: true, Register: r.arch.FP(), Offset: rule.Offset}); rule == own &&
		r.CFA.Register != r.arch.FP() && f.Restored(r.arch, e.cfa) {
		rule = Rule{} // gcc's realigned functions: see package cfi, realign.go
	}
	fp, err := e.value(rule, r.arch.FP(), "the frame pointer")
	switch err.(type) { //nolint:errorlint // made here, never wrapped
	case nil:
		caller.Registers.Set(r.arch.FP(), fp)
	case *apply.MissingRegister: // only what needs it later fails
	default:
		return err
	}
	return nil
}

// evaluation is the state of Unwind.
type evaluation struct {
	row      *Row
	frame    *apply.Frame
	cfa      uint64
	cfaKnown bool
}

// value applies a rule for a register.
func (e *evaluation) value(rule Rule, reg unwind.Register, what string) (uint64, error) {
	base := e.cfa
	if rule.Kind != FromCFA {
		if rule.Kind == FromRegister {
			reg = rule.Register
		}
		// The call has overwritten the link register of a frame that has made one
		// (R10).
		v, ok := e.frame.Registers.Get(reg)
		if arch := e.row.arch; !ok || reg == arch.LR() && e.frame.Kind == unwind.KindReturn && !e.row.Signal {
			return 0, &apply.MissingRegister{Register: reg, Name: arch.RegisterName(reg), For: what}
		}
		base = v
	}
	sum, err := apply.Add(base, int64(rule.Offset), e.cfa)
	if err != nil || !rule.Deref {
		return sum, err
	}
	var order binary.ByteOrder = binary.LittleEndian
	if e.row.big {
		order = binary.BigEndian
	}
	if v, ok := e.frame.Memory.Word(sum, order); ok {
		return v, nil
	}
	return 0, e.need(sum)
}

// need asks for the word at an address, and for the others that the rules read.
func (e *evaluation) need(addr uint64) error {
	var next []unwind.Range
	if e.cfaKnown {
		for _, r := range []Rule{e.row.RA, e.row.FP} {
			if at := e.cfa + uint64(int64(r.Offset)); r.Kind == FromCFA && r.Deref {
				next = append(next, unwind.Range{Start: at, End: at + 8})
			}
		}
	}
	return apply.Need(addr, 8, next...)
}
