package symbols

import (
	"debug/dwarf"
	"debug/elf"
	"io"
	"sort"
	"sync"
)

// languageGo is DW_LANG_Go (DWARF 5, table 7.17). Go's lines come from its own
// table.
const languageGo = 0x16

// Bounds on what is kept of a file's line tables.
const (
	maxUnits = 1 << 20
	maxLines = 1 << 24
)

// lineIndex finds source lines of code that is not Go's.
type lineIndex struct {
	data  *dwarf.Data
	units []unit // sorted by low
	mu    sync.Mutex
	lines map[dwarf.Offset][]line
}

// unit is an address range of a compilation unit.
type unit struct {
	low, high uint64
	entry     *dwarf.Entry
}

// line is a row of a line table: it holds from addr to the next row.
type line struct {
	addr uint64
	file string
	line int // 0 where the sequence ends
}

// newLineIndex lists the units; their lines are read when first asked for.
func newLineIndex(f *elf.File) *lineIndex {
	idx := &lineIndex{lines: make(map[dwarf.Offset][]line)}
	if f.Section(".debug_info") == nil && f.Section(".zdebug_info") == nil {
		return idx
	}
	data, err := f.DWARF()
	if err != nil {
		return idx
	}
	idx.data = data
	for r := data.Reader(); len(idx.units) < maxUnits; r.SkipChildren() {
		e, err := r.Next()
		if err != nil || e == nil {
			break
		}
		if e.Tag != dwarf.TagCompileUnit {
			continue
		}
		if lang, _ := e.Val(dwarf.AttrLanguage).(int64); lang == languageGo {
			continue
		}
		ranges, err := data.Ranges(e)
		if err != nil {
			continue
		}
		for _, rg := range ranges {
			if rg[0] < rg[1] {
				idx.units = append(idx.units, unit{rg[0], rg[1], e})
			}
		}
	}
	sort.Slice(idx.units, func(i, j int) bool { return idx.units[i].low < idx.units[j].low })
	return idx
}

// find gives the source line of an instruction.
func (x *lineIndex) find(vaddr uint64) (file string, number int) {
	i := sort.Search(len(x.units), func(i int) bool { return x.units[i].low > vaddr })
	if i == 0 || vaddr >= x.units[i-1].high {
		return "", 0
	}
	rows := x.rows(x.units[i-1].entry)
	j := sort.Search(len(rows), func(j int) bool { return rows[j].addr > vaddr })
	if j == 0 {
		return "", 0
	}
	return rows[j-1].file, rows[j-1].line
}

// rows reads the line table of a unit, once.
func (x *lineIndex) rows(e *dwarf.Entry) []line {
	x.mu.Lock()
	defer x.mu.Unlock()
	if rows, ok := x.lines[e.Offset]; ok {
		return rows
	}
	var rows []line
	if lr, err := x.data.LineReader(e); err == nil && lr != nil {
		var entry dwarf.LineEntry
		for len(rows) < maxLines {
			if err := lr.Next(&entry); err != nil {
				if err != io.EOF {
					rows = nil // a table that breaks off tells nothing for certain
				}
				break
			}
			switch {
			case entry.EndSequence:
				rows = append(rows, line{addr: entry.Address})
			case entry.File != nil:
				rows = append(rows, line{addr: entry.Address, file: entry.File.Name, line: entry.Line})
			}
		}
	}
	// At one address the later row counts, and the end of one sequence comes
	// before the start of the next.
	sort.SliceStable(rows, func(i, j int) bool {
		if rows[i].addr != rows[j].addr {
			return rows[i].addr < rows[j].addr
		}
		return rows[i].line == 0 && rows[j].line != 0
	})
	x.lines[e.Offset] = rows
	return rows
}
