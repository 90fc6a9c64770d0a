package symbols

import (
	"debug/elf"
	"slices"

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
