package symbols

import (
	"cmp"
	"sort"
	"strings"

	"github.com/clewdbg/clew/imagemap/macho"
)

// readFunctions implements [object]: the functions that the linker lists
// (LC_FUNCTION_STARTS), with the names that the symbols give them; symbols of code
// that are not listed; and the stubs of imported functions. Symbols have no sizes:
// a function ends where the next one begins, or its section ends.
func (f *machoFile) readFunctions() functions {
	starts, startsErr := f.Functions()
	out, errs := f.symbolFunctions()
	f.keep(append(errs, startsErr)...)
	for _, start := range starts {
		out = append(out, function{start: start, sized: true})
	}
	stubs, _ := f.Stubs()
	for _, s := range stubs {
		out = append(out, function{start: s.Addr, end: s.Addr + s.Size, name: cmp.Or(cName(s.Name), "?") + "@stub", sized: true, rank: 8})
	}
	table := onePerAddress(out)
	for i := range table.all { // everything in the list is a function, with or without a name
		fn := &table.all[i]
		listed := sort.Search(len(starts), func(k int) bool { return starts[k] >= fn.start })
		fn.sized = fn.sized || listed < len(starts) && starts[listed] == fn.start
	}
	f.bound(table.all)
	table.all = dropLabels(table.all)
	setReach(table.all)
	return table
}

// localLabels implements [object]: every symbol counts already.
func (f *machoFile) localLabels() []function { return nil }

// symbolFunctions returns the symbols of code, those that can be read.
func (f *machoFile) symbolFunctions() (out []function, errs []error) {
	for _, from := range []*macho.File{f.File, f.dsym} {
		if from == nil {
			continue
		}
		symbols, err := from.Symbols()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, s := range symbols {
			// Names with l or L in front are the linker's own, for its pieces.
			if !s.Section.Code() || s.Name == "" || strings.HasPrefix(s.Name, "ltmp") {
				continue
			}
			fn := function{start: s.Addr, name: cName(s.Name)}
			if s.External {
				fn.rank++
			}
			if strings.HasPrefix(s.Name, "_") {
				fn.rank += 2
			}
			out = append(out, fn)
		}
	}
	return out, errs
}

// bound sets the ends of functions, which are sorted.
func (f *machoFile) bound(all []function) {
	next := uint64(0) // start of the next function with a size of its own
	for i := len(all) - 1; i >= 0; i-- {
		fn := &all[i]
		if fn.end == 0 {
			fn.end = f.sectionEnd(fn.start)
			if fn.sized && next != 0 {
				fn.end = min(fn.end, next)
			} else if !fn.sized && i+1 < len(all) {
				fn.end = min(fn.end, all[i+1].start)
			}
		}
		if fn.sized {
			next = fn.start
		}
	}
}

// sectionEnd is the end of the section that holds addr.
func (f *machoFile) sectionEnd(addr uint64) uint64 {
	for i := range f.Sections {
		if s := &f.Sections[i]; addr >= s.Addr && addr-s.Addr < s.Size {
			return s.Addr + s.Size
		}
	}
	return addr
}

// cName takes away the underscore that Apple's compilers put in front of every
// name in C.
func cName(name string) string { return strings.TrimPrefix(name, "_") }
