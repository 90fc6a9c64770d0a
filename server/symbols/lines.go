package symbols

import (
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"sort"
	"strings"
	"sync"
)

// languageGo is DW_LANG_Go (DWARF 5, table 7.17). Go's lines come from its own
// table.
const languageGo = 0x16

// Bounds on a file's line tables.
const (
	maxUnits = 1 << 20
	maxLines = 1 << 22
	maxDebug = 2 << 30 // bytes of debug sections, uncompressed
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

// dwarfSource is a file's DWARF.
type dwarfSource struct {
	info  []byte // the section of units
	order binary.ByteOrder
	data  func() (*dwarf.Data, error)
}

// newLineIndex lists the units; their lines are read when first asked for. nil is
// a file without DWARF.
func newLineIndex(src *dwarfSource) *lineIndex {
	idx := &lineIndex{lines: make(map[dwarf.Offset][]line)}
	if src == nil {
		return idx
	}
	guard(func() { idx.readUnits(src) })
	sort.Slice(idx.units, func(i, j int) bool { return idx.units[i].low < idx.units[j].low })
	return idx
}

// dwarfOf returns the DWARF of an ELF file, nil if there is none that may be loaded.
func dwarfOf(f *elf.File) *dwarfSource {
	if !worthReading(f) {
		return nil
	}
	info, ok := sectionOf(f, ".debug_info")
	if !ok {
		return nil
	}
	return &dwarfSource{info: info.Data, order: f.ByteOrder, data: f.DWARF}
}

// worthReading reports whether there is DWARF, of a size that may be loaded.
func worthReading(f *elf.File) bool {
	found, size := false, uint64(0)
	for _, s := range f.Sections {
		if !strings.HasPrefix(s.Name, ".debug_") && !strings.HasPrefix(s.Name, ".zdebug_") {
			continue
		}
		n := fullSize(s)
		if n > maxDebug-size {
			return false
		}
		size += n
		found = found || strings.HasSuffix(s.Name, "debug_info") && s.Type != elf.SHT_NOBITS
	}
	return found
}

// guard calls debug/dwarf, which panics on some corrupt input. Results that it has
// returned before stay.
func guard(call func()) {
	defer func() { _ = recover() }()
	call()
}

// readUnits lists the address ranges of the units.
func (idx *lineIndex) readUnits(src *dwarfSource) {
	data, err := src.data()
	if err != nil {
		return
	}
	idx.data = data
	r := data.Reader()
	for _, off := range unitEntries(src.info, src.order) {
		r.Seek(off)
		e, err := r.Next()
		if err != nil || e == nil {
			continue
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
			if 0 < rg[0] && rg[0] < rg[1] { // at 0: dropped by the linker
				idx.units = append(idx.units, unit{rg[0], rg[1], e})
			}
		}
	}
}

// find returns the source line of an instruction.
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
	guard(func() { rows = x.read(e) })
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

// read reads the line table of a unit. A table that breaks off tells nothing
// for certain: nil.
func (x *lineIndex) read(e *dwarf.Entry) []line {
	lr, err := x.data.LineReader(e)
	if err != nil || lr == nil {
		return nil
	}
	var rows []line
	sequence := 0 // where the current one starts in rows
	for len(rows) < maxLines {
		var entry dwarf.LineEntry
		if err := lr.Next(&entry); errors.Is(err, io.EOF) {
			return rows
		} else if err != nil {
			return nil
		}
		switch {
		case entry.EndSequence:
			rows = append(rows, line{addr: entry.Address})
			// Code that the linker dropped (--gc-sections) keeps its lines, at
			// address 0, where they would cover real code.
			if rows[sequence].addr == 0 {
				rows = rows[:sequence]
			}
			sequence = len(rows)
		case entry.File != nil:
			rows = append(rows, line{addr: entry.Address, file: entry.File.Name, line: entry.Line})
		}
	}
	return nil
}
