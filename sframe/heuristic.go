package sframe

import (
	"cmp"
	"slices"

	"github.com/clewdbg/clew/unwind"
)

// unmerged refuses a table as the assembler of binutils up to 2.44 writes it
// into object files: starts are relative to their field there, though no flag
// says so, and a linker without support for SFrame leaves them that way.
// Linkers that merge tables sort them. An unsorted one is read as its header
// says only if its starts make sense that way, and would not relative to their
// fields: with one function both mostly do.
func (t *reading) unmerged(h *Header) *Error {
	if h.Flags&(FlagPCRelative|FlagSorted) != 0 {
		return nil
	}
	toTable, toFields := make([]unwind.Range, 0, h.Functions), make([]unwind.Range, 0, h.Functions)
	for i := range int(h.Functions) {
		f, bad := t.function(h, 0, i)
		if bad != nil || f.size == 0 {
			continue
		}
		toTable = append(toTable, unwind.Range{Start: f.start, End: f.end()})
		shift := uint64(f.entry) - h.Offset
		toFields = append(toFields, unwind.Range{Start: f.start + shift, End: f.end() + shift})
	}
	byTable, byFields := t.sensible(toTable), t.sensible(toFields)
	reason := "starts are relative to their fields, as in object files, though the flag that says so is not set"
	switch {
	case byTable && !byFields || len(toTable) == 0:
		return nil
	case byTable || !byFields:
		reason = "functions are not sorted, as in object files, and nothing tells whether their starts are relative to the table or to their fields"
	}
	return t.errorf(int(h.Offset)+3, "sfp_flags", "%s", reason)
}

// sensible reports whether functions lie in the program's code and not in each
// other.
func (t *reading) sensible(functions []unwind.Range) bool {
	slices.SortFunc(functions, func(a, b unwind.Range) int { return cmp.Compare(a.Start, b.Start) })
	for i, f := range functions {
		if i > 0 && f.Start < functions[i-1].End && f != functions[i-1] {
			return false
		}
		if code, ok := t.opts.Code.Find(f.Start); len(t.opts.Code) > 0 && (!ok || f.End > code.End) {
			return false
		}
	}
	return true
}
