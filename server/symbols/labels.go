package symbols

import (
	"debug/elf"
	"slices"
	"sort"
	"strings"

	"github.com/clewdbg/clew/internal/elffile"
	"github.com/clewdbg/clew/internal/unwind/cfi"
	"github.com/clewdbg/clew/unwind"
)

// boundLabels bounds the symbols without a size of a file that has symbols for what
// it exports only; all are sorted by address.
//
// Situation: code without a symbol lies behind a symbol without a size, which
// would name it. Example: a stripped library of hand-written and compiled code,
// where the one label that it exports named four static functions behind it. What
// proves where a function begins and ends is its FDE (DWARF 5, 6.4.1): with one
// of its own the symbol names that code and no other; without, it names nothing
// from where the next FDE begins, and is a guess up to there. Test: TestLabels.
func (f *elfFile) boundLabels(all []function) {
	if f.fullSymbols() {
		return // what lies behind a symbol would have its own
	}
	table := f.frames()
	if table == nil {
		for i := range all {
			all[i].guess = !all[i].sized
		}
		return
	}
	var starts []uint64 // of FDEs
	for i := range all {
		fn := &all[i]
		if fn.sized {
			continue
		}
		if fde, ok := table.Find(fn.start); ok && fde.Start == fn.start {
			fn.end = min(fn.end, fde.End)
			continue
		}
		fn.guess = true
		if starts == nil {
			for fde := range table.All() {
				starts = append(starts, fde.Start)
			}
		}
		if next := after(starts, fn.start); next != 0 {
			fn.end = min(fn.end, next)
		}
	}
}

// assembled returns the function of an assembler's that an instruction is in, which the line table t covers. fn is the
// function by the other symbols, if any, and has no size.
//
// Situation: DWARF has no function of an assembler's which has no type, and one that is not exported looks like a label within
// another. Example: "second:" behind the exported "first:", in a file assembled with -g. The nearest label before the
// instruction counts, as in GDB and llvm-symbolizer, where the label's code is in the line table too. Test: TestAssembled.
func (f *File) assembled(t described, vaddr uint64, fn function) function {
	label := f.label(vaddr)
	if label.name == "" || label.start <= fn.start && fn.name != "" {
		return fn
	}
	if at, err := t.Calls(label.start); err != nil || at[0].Line == 0 || at[0].Function {
		return fn
	}
	return label
}

// label returns the local label whose code has an instruction, if any.
func (f *File) label(vaddr uint64) (label function) {
	all := f.labels()
	if i := sort.Search(len(all), func(i int) bool { return all[i].start > vaddr }) - 1; i >= 0 && vaddr < all[i].end {
		label = all[i]
	}
	return label
}

// readLabels returns the local labels of code, sorted: one for each address, which ends where the next function or label begins.
func (f *File) readLabels() []function {
	all := onePerAddress(f.localLabels()).all
	functions := f.functions().all
	for i := range all {
		l := &all[i]
		if i+1 < len(all) {
			l.end = min(l.end, all[i+1].start)
		}
		if next := sort.Search(len(functions), func(k int) bool { return functions[k].start > l.start }); next < len(functions) {
			l.end = min(l.end, functions[next].start)
		}
	}
	return all
}

// localLabels implements [object].
func (f *elfFile) localLabels() (all []function) {
	for _, ef := range []*elf.File{f.File, f.debug} {
		if ef == nil {
			continue
		}
		for _, s := range elffile.Symbols(ef, elf.SHT_SYMTAB) {
			local := elf.ST_TYPE(s.Info) == elf.STT_NOTYPE && elf.ST_BIND(s.Info) == elf.STB_LOCAL
			if local && s.Name != "" && !strings.HasPrefix(s.Name, "$") && inCode(ef, s) && len(all) < maxFunctions {
				all = append(all, function{start: s.Value, end: sectionEnd(ef, s.Value), name: s.Name})
			}
		}
	}
	return all
}

// after returns the first of sorted addresses that is higher than addr, 0 for none.
func after(sorted []uint64, addr uint64) uint64 {
	i, _ := slices.BinarySearch(sorted, addr+1)
	if i == len(sorted) {
		return 0
	}
	return sorted[i]
}

// frames returns the table of the file's .eh_frame, nil if there is none.
func (f *elfFile) frames() *cfi.Table {
	if f.Arch() == unwind.ArchUnknown {
		return nil
	}
	options := cfi.Options{Arch: f.Arch(), Order: f.ByteOrder}
	if frame, ok := f.Section(".eh_frame"); ok {
		if header, ok := f.Section(".eh_frame_hdr"); ok {
			options.Header = cfi.Section{Name: ".eh_frame_hdr", Addr: header.Vaddr, Data: header.Data}
		}
		return cfi.New(cfi.Section{Name: ".eh_frame", Kind: cfi.EHFrame, Addr: frame.Vaddr, Data: frame.Data}, options)
	}
	// Without section headers the program header leads there.
	behind, ok := f.segmentAround(elf.PT_GNU_EH_FRAME, false)
	before, _ := f.segmentAround(elf.PT_GNU_EH_FRAME, true)
	if !ok {
		return nil
	}
	header, frame, err := cfi.SplitSegment(behind.Vaddr, behind.Data, before.Data, f.Arch(), 0)
	if err != nil {
		return nil
	}
	options.Header, options.OpenEnded = header, true
	return cfi.New(frame, options)
}
