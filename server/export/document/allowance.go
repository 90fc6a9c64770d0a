package document

import (
	"fmt"
	"unicode/utf8"
)

// Limits on the names that are written of one input. Frames share names, so that a megabyte may be one name of a
// million frames.
const (
	maxName = 32 << 10 // bytes of one: twice what clew reads of a name in DWARF, and what a path may have
	// maxNames are bytes of all, and namesForByte for each byte of the input: compressed profiles of programs
	// with long names take some dozens.
	maxNames     = 256 << 20
	namesForByte = 256
	besideName   = 32 // bytes that are written with each, at least: a location may have a million inlined calls
)

// leftOut stands for what is not shown of a name.
const leftOut = "…"

// allowance is how much may still be written of names.
type allowance struct {
	left int
	all  int
	out  bool // something was left out
}

func newAllowance(input int) *allowance {
	n := maxNames + namesForByte*input
	return &allowance{left: n, all: n}
}

// shown is as much of a name as may be written.
func (d *Document) shown(name string) string {
	a := d.names
	if a == nil || name == "" {
		return name
	}
	if a.left <= 0 {
		return leftOut
	}
	if len(name) > maxName {
		n := maxName
		for n > maxName-utf8.UTFMax && !utf8.RuneStart(name[n]) {
			n--
		}
		name, a.out = name[:n]+leftOut, true
	}
	if a.left -= len(name) + besideName; a.left <= 0 {
		a.out = true
		return leftOut
	}
	return name
}

// NamesLeftOut says what was not written of names so far, of this document and those before it from the same
// input; "" if nothing.
func (d *Document) NamesLeftOut() string {
	if d.names == nil || !d.names.out {
		return ""
	}
	return fmt.Sprintf("names are written up to %d KiB each and %d MiB together; the rest of them is left out; the addresses are all there", maxName>>10, d.names.all>>20)
}
