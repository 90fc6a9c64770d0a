package compactunwind

import (
	"strings"

	"github.com/clewdbg/clew/internal/unwind/apply"
	"github.com/clewdbg/clew/plugins/compactunwind/table"
	"github.com/clewdbg/clew/unwind"
)

// encodedRow applies the rule of an encoding.
type encodedRow struct {
	arch unwind.Arch
	rule table.Rule
}

// Unwind implements [tablewalk.Row].
func (r *encodedRow) Unwind(f *apply.Frame, caller *apply.Caller) error {
	base, ok := f.Registers.Get(r.rule.Base)
	if !ok {
		return &apply.MissingRegister{Register: r.rule.Base, Name: r.arch.RegisterName(r.rule.Base), For: "the CFA"}
	}
	cfa, err := apply.Add(base, r.rule.Offset, 0)
	if err != nil {
		return err
	}
	*caller = apply.Caller{CFA: cfa, Kind: unwind.KindReturn}
	out := &caller.Registers
	out.Set(r.arch.SP(), cfa)
	for _, reg := range r.arch.CalleeSaved() {
		if v, ok := f.Registers.Get(reg); ok {
			out.Set(reg, v)
		}
	}
	for _, s := range r.rule.Saved() {
		v, err := r.word(f, cfa, s.Offset)
		if err != nil {
			return err
		}
		out.Set(s.Register, v)
	}
	ra, err := r.returnAddress(f, cfa)
	if err != nil {
		return err
	}
	out.Set(r.arch.PC(), apply.Strip(ra, f.PACMask))
	return nil
}

func (r *encodedRow) returnAddress(f *apply.Frame, cfa uint64) (uint64, error) {
	if !r.rule.InLR {
		return r.word(f, cfa, r.raOffset())
	}
	ra, ok := f.Registers.Get(r.arch.LR())
	if !ok {
		return 0, &apply.MissingRegister{Register: r.arch.LR(), Name: r.arch.RegisterName(r.arch.LR()), For: "the return address"}
	}
	return ra, nil
}

func (r *encodedRow) raOffset() int64 { return -int64(r.arch.PointerSize()) }

// word reads a word at an offset from the CFA.
func (r *encodedRow) word(f *apply.Frame, cfa uint64, offset int64) (uint64, error) {
	addr, err := apply.Add(cfa, offset, cfa)
	if err != nil {
		return 0, err
	}
	size := r.arch.PointerSize()
	if size == 8 { // without an allocation
		if v, ok := f.Memory.Word(addr, r.arch.ByteOrder()); ok {
			return v, nil
		}
	}
	v, err := unwind.ReadWord(f.Memory, addr, size, r.arch.ByteOrder())
	if err != nil {
		// All that the rule reads lies between the lowest saved register and the CFA.
		low := addr
		for _, s := range r.rule.Saved() {
			low = min(low, cfa+uint64(s.Offset))
		}
		return 0, apply.Need(addr, size, unwind.Range{Start: low, End: cfa})
	}
	return v, nil
}

// place writes the word at an offset from the CFA.
func (r *encodedRow) place(offset int64) string { return "[" + apply.Sum("cfa", offset) + "]" }

// String writes the rule as equations.
func (r *encodedRow) String() string {
	var b strings.Builder
	b.WriteString("cfa=" + apply.Sum(r.arch.RegisterName(r.rule.Base), r.rule.Offset))
	ra, fp := r.place(r.raOffset()), "unchanged"
	if r.rule.InLR {
		ra = r.arch.RegisterName(r.arch.LR())
	}
	for _, s := range r.rule.Saved() {
		if s.Register == r.arch.FP() {
			fp = r.place(s.Offset)
		}
	}
	b.WriteString("; ra=" + ra + "; fp=" + fp)
	return b.String()
}
