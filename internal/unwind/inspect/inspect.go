package inspect

import (
	"encoding/binary"
	"iter"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// Format is one kind of unwind information.
type Format struct {
	// Name is the strategy's: "dwarfcfi".
	Name string
	// Sections are the sections that it wants, by the names that strategies ask
	// for them ([unwind.Description]).
	Sections []string
	// Tables are those of them without which an image has no such tables.
	Tables []string
	// Open reads an image's tables; nil if it has none.
	Open func(image *Image) *Tables
}

// Image is a file, or one architecture's part of it.
type Image struct {
	unwind.Image
	Arch  unwind.Arch
	Order binary.ByteOrder // nil means the architecture's default
	// Path is the user's name of the file.
	Path string
}

// Tables are an image's unwind information of one format.
type Tables struct {
	Version   string // of the format, where it has versions
	Functions int    // that can be used
	Coverage  unwind.RangeSet
	Problems  []string // unusable parts, with reasons
	// Rows yields the rules by ascending address, without overlaps.
	Rows iter.Seq[Row]
}

// Row is the rules for the addresses from Start to End, without End, as equations
// in the architecture's register names.
type Row struct {
	Start, End uint64
	rule.Equations
	Flags      []string
	Encoding   string // the raw encoding, if that is one word: compact unwind
	Delegate   string // the format that has the rules instead
	Expression string // the whole of a DWARF expression that CFA abbreviates
}

// Flags of rows.
const (
	Outermost    = "outermost"      // the frame has no caller
	Signal       = "signal"         // the caller was interrupted, not called
	Mangled      = "mangled"        // the return address is signed (R11)
	TopFrameOnly = "top-frame-only" // rests on a register that calls overwrite
	Corrected    = "corrected"      // the table says otherwise, and is known to be wrong
	Null         = "null"           // there is an entry, and it says that there is no rule
)

// Lookup returns the row for an address.
func (t *Tables) Lookup(addr uint64) (Row, bool) {
	for row := range t.Rows {
		if addr < row.Start {
			break
		}
		if addr < row.End {
			return row, true
		}
	}
	return Row{}, false
}

// Count is the number of rows.
func (t *Tables) Count() (n int) {
	for range t.Rows {
		n++
	}
	return n
}
