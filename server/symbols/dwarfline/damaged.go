package dwarfline

import "fmt"

// LineError says that rows of a line table have been changed.
type LineError struct {
	Addr uint64 // where the table contradicts the unit
	What string
}

// Error names the address.
func (e *LineError) Error() string {
	return fmt.Sprintf("lines may be wrong, the line table is damaged: %s at %#x", e.What, e.Addr)
}

// checkLines compares what a line table says around an instruction of a function with what its unit says, once for each: rows follow each other by differences, so
// that one which is changed moves all behind it.
//
// Situation: a row's address is changed. Example: a byte of the program is another special opcode. Compilers and assemblers begin a row where a
// function begins, and end a sequence where a range of the unit ends; addresses ascend (DWARF 5, section 6.2.5). A line alone that is changed nothing
// contradicts. Test: TestDamagedLines.
func (u *unit) checkLines(t *lineTable, f *tree, addr uint64) error {
	if in := t.sequenceAt(f.entry); in != nil && !f.checked {
		f.checked = true
		if rows := t.upTo(in, f.entry); f.entry != 0 && rows[len(rows)-1].addr != f.entry {
			return &LineError{f.entry, "no row for the function that begins"}
		}
	}
	s := t.sequenceAt(addr)
	if s.checked {
		return nil
	}
	s.checked = true
	if s.back {
		return &LineError{s.low, "an address is lower than the one before it, in the rows that begin"}
	}
	overlaps, ends := false, false
	before := u.t.rangesRead
	err := u.ranges(u.root, func(low, high uint64) {
		overlaps = overlaps || s.low < high && low < s.high
		ends = ends || high == s.high
	})
	u.t.rangesRead = before // this is asked for again and again
	if err == nil && overlaps && !ends {
		return &LineError{s.high, "no code of the unit ends where rows do,"}
	}
	for _, r := range t.rows[s.begin:s.end] {
		if !t.hasFile(uint64(r.file)) && r.line != 0 {
			return &LineError{r.addr, fmt.Sprintf("no file has the number %d,", r.file)}
		}
	}
	return nil
}
