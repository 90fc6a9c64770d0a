package cfi

import (
	"encoding/binary"
	"fmt"

	"github.com/clewdbg/clew/internal/unwind/apply"
	"github.com/clewdbg/clew/unwind"
)

// Unwind applies the row's rules to a frame. The errors are those of package
// apply, and [*Error] where an expression cannot be evaluated. It does not
// allocate where there is no error.
//
// A caller holds what the rules prove: registers that have rules, and those
// that the ABI makes every function keep.
func (row *Row) Unwind(f *apply.Frame, caller *apply.Caller) error {
	if row.RA.Kind == Undefined {
		return apply.ErrOutermost
	}
	e := evaluation{row: row, frame: f, order: row.table.opts.Order}
	var err error
	if e.cfa, err = e.evalCFA(); err != nil {
		return err
	}
	*caller = apply.Caller{CFA: e.cfa, Kind: unwind.KindReturn}
	out := &caller.Registers
	arch := row.table.opts.Arch
	out.Set(arch.SP(), e.cfa) // unless a rule says otherwise
	for i := range row.plan {
		r := &row.plan[i]
		if r.Kind == SameValue || r.Kind == atFrame && e.restored() {
			if v, ok := f.Registers.Get(r.Register); ok {
				out.Set(r.Register, v)
			}
			continue
		}
		v, err := e.value(r.Rule, r.Register)
		if err != nil {
			if _, lost := err.(*apply.MissingRegister); lost { //nolint:errorlint // made here, never wrapped
				out.Forget(r.Register)
				continue // only what needs it later fails
			}
			return err
		}
		out.Set(r.Register, v)
	}
	if row.goCode {
		if err := e.goFramePointer(out); err != nil {
			return err
		}
	}
	ra, err := e.returnAddress()
	if err != nil {
		return err
	}
	out.Set(arch.PC(), apply.Strip(ra, f.PACMask))
	if row.Signal {
		caller.Kind = unwind.KindInstruction
	}
	return nil
}

// evaluation is the state of Unwind.
type evaluation struct {
	row   *Row
	frame *apply.Frame
	order binary.ByteOrder
	cfa   uint64
}

func (e *evaluation) evalCFA() (uint64, error) {
	row := e.row
	switch rule := row.CFA; rule.Kind {
	case InRegister:
		base, ok := e.frame.Registers.Get(rule.Register)
		if !ok {
			return 0, e.missing(rule.Register, "the CFA")
		}
		return e.add(base, rule.Offset)
	case ValExpression: // a value: not read from memory
		return e.expression(rule, 0, false)
	}
	return 0, &apply.ImpossibleError{Reason: "there is no rule for the CFA"}
}

// returnAddress applies the return address's rule.
func (e *evaluation) returnAddress() (uint64, error) {
	row := e.row
	arch := row.table.opts.Arch
	rule := row.RA
	if rule.Kind == Unspecified || rule.Kind == SameValue {
		rule = Rule{Kind: InRegister, Register: row.ReturnColumn}
		if arch.LR() == unwind.NoRegister {
			return 0, &apply.ImpossibleError{CFA: e.cfa, Reason: "there is no rule for the return address"}
		}
	}
	if rule.Kind == InRegister && rule.Register == arch.LR() && e.frame.Kind == unwind.KindReturn && !row.Signal {
		return 0, &apply.ImpossibleError{CFA: e.cfa,
			Reason: fmt.Sprintf("the return address is said to be in %s, which the frame's call has overwritten (R10)", arch.RegisterName(rule.Register))}
	}
	return e.value(rule, row.ReturnColumn)
}

// value applies a rule that is not "same value".
func (e *evaluation) value(rule Rule, reg unwind.Register) (uint64, error) {
	switch rule.Kind {
	case AtCFA:
		addr, err := e.add(e.cfa, rule.Offset)
		if err != nil {
			return 0, err
		}
		return e.word(addr)
	case CFAPlus:
		return e.add(e.cfa, rule.Offset)
	case InRegister:
		v, ok := e.frame.Registers.Get(rule.Register)
		if !ok {
			return 0, e.missing(rule.Register, e.row.table.opts.Arch.RegisterName(reg))
		}
		return v, nil
	case atFrame:
		fp, _ := e.frame.Registers.FP(e.row.table.opts.Arch)
		addr, err := e.add(fp, rule.Offset)
		if err != nil {
			return 0, err
		}
		return e.word(addr)
	case AtExpression:
		addr, err := e.expression(rule, e.cfa, true)
		if err != nil {
			return 0, err
		}
		return e.word(addr)
	case ValExpression:
		return e.expression(rule, e.cfa, true)
	}
	return 0, &apply.ImpossibleError{CFA: e.cfa, Reason: "there is no rule for " + e.row.table.opts.Arch.RegisterName(reg)}
}

func (e *evaluation) missing(reg unwind.Register, what string) error {
	return &apply.MissingRegister{Register: reg, Name: e.row.table.opts.Arch.RegisterName(reg), For: what}
}

// add adds an offset to an address; all of that is checked (R10).
func (e *evaluation) add(base uint64, off int64) (uint64, error) {
	sum, err := apply.Add(base, off, e.cfa)
	if err == nil && e.row.table.addrSize == 4 && sum > 0xffff_ffff {
		err = &apply.ImpossibleError{CFA: e.cfa, Reason: fmt.Sprintf("%#x%+d is no address", base, off)}
	}
	return sum, err
}

// word reads a word of memory.
func (e *evaluation) word(addr uint64) (uint64, error) {
	if e.row.table.addrSize == 8 {
		if v, ok := e.frame.Memory.Word(addr, e.order); ok {
			return v, nil
		}
		return 0, e.need(addr, 8)
	}
	return e.read(addr, e.row.table.addrSize)
}

// read reads a number of 1, 2, 4 or 8 bytes.
func (e *evaluation) read(addr uint64, size int) (uint64, error) {
	for _, w := range e.frame.Memory {
		if w.Contains(addr, size) {
			r := reader{data: w.Data, pos: int(addr - w.Addr), big: e.row.table.big}
			return r.unsigned(size), nil
		}
	}
	return 0, e.need(addr, size)
}

// need asks for memory: for all that the row's rules read around the CFA too.
func (e *evaluation) need(addr uint64, size int) error {
	var next []unwind.Range
	grow := func(rule Rule) {
		if at := e.cfa + uint64(rule.Offset); rule.Kind == AtCFA {
			next = append(next, unwind.Range{Start: at, End: at + uint64(e.row.table.addrSize)})
		}
	}
	grow(e.row.RA)
	for i := range e.row.plan {
		grow(e.row.plan[i].Rule)
	}
	return apply.Need(addr, size, next...)
}
