package cfi

import "github.com/clewdbg/clew/unwind"

// Row holds the rules for the addresses in [Start, End) as DWARF has them.
// [Row.Rule] makes a rule of them.
type Row struct {
	Start, End uint64
	CFA        Rule
	// ReturnColumn is the register that stands for the return address, and RA
	// its rule.
	ReturnColumn unwind.Register
	RA           Rule
	// Rules are those of the other registers, by ascending column.
	Rules []RegisterRule
	// Signal: the caller was interrupted by a signal.
	Signal bool
	// Mangled: the return address is signed (Arm pointer authentication).
	Mangled bool
	// Synchronous: the function's rules do not return to those of its first
	// instruction: it has no epilogue, or its tables are right at calls only
	// (arm64, and where [Options] say so; set by [Table.Row]).
	Synchronous bool

	table  *Table
	goCode bool
}

// Row returns the rules of an FDE for an address in its code. It allocates: keep
// the row where the same address comes again.
func (t *Table) Row(f *FDE, addr uint64) (*Row, error) {
	if !f.Contains(addr) {
		return nil, t.errorf(f.Offset, "FDE: %#x lies outside [%#x, %#x)", addr, f.Start, f.End)
	}
	var m machine
	var row *Row
	opened, closed := false, false
	whole := t.opts.Arch == unwind.ARM64 && !f.cie.goCode
	err := m.exec(t, f, func(start, end uint64) bool {
		same := m.cur.cfa == f.cie.initial.cfa
		opened, closed = opened || !same, closed || opened && same
		if row == nil && end > addr {
			row = m.row(f, start, end)
		}
		return row == nil || whole
	})
	if err != nil {
		return nil, err
	}
	row.Synchronous = whole && opened && !closed || t.opts.Synchronous
	return row, nil
}

// Rows calls visit with every row of an FDE, by ascending address, until it
// returns false.
func (t *Table) Rows(f *FDE, visit func(*Row) bool) error {
	var m machine
	err := m.exec(t, f, func(start, end uint64) bool { return visit(m.row(f, start, end)) })
	if err != nil {
		return err
	}
	return nil
}

// row makes a row of the machine's state.
func (m *machine) row(f *FDE, start, end uint64) *Row {
	c := f.cie
	row := &Row{Start: start, End: end, CFA: m.cur.cfa, ReturnColumn: c.ra, Signal: c.signal, Mangled: m.cur.signed,
		table: m.t, goCode: c.goCode, Rules: m.cur.pack().rules}
	for i, r := range row.Rules {
		if r.Register == c.ra {
			row.RA = r.Rule
			row.Rules = append(row.Rules[:i], row.Rules[i+1:]...)
			break
		}
	}
	return row
}
