package symbols

import (
	"cmp"
	"slices"
	"strings"

	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/server/symbols/dwarfline"
	"github.com/clewdbg/clew/unwind"
)

// Native is a function that is not Go's, or a copy of one that is inlined into another. Addresses are the linker's.
type Native struct {
	ID      dwarfline.ID // tells functions and copies of one file apart; of symbols it is zero
	Name    string       // demangled, in full
	Entry   uint64
	Ranges  []unwind.Range // also of parts that are moved away
	Inner   []unwind.Range // what is inlined there; [File.NativeAt] sets it, for the innermost function
	File    string         // where its code begins; "" if it is not known
	Line    int
	Inlined bool
	Symbol  bool // a symbol is all that is known of it
	// Resolver says that it chooses at run time which function is called by its name (STT_GNU_IFUNC).
	Resolver bool
	// Held says that debugging information knows values from the entry on: the code is optimized.
	Held bool
}

// inDWARF is debugging information that functions and lines are looked for in.
type inDWARF interface {
	FunctionsAt(addr uint64) []dwarfline.Function
	Named(name string, accept func(*dwarfline.Call) bool) ([]dwarfline.Function, bool)
	RowsIn(low, high uint64) []dwarfline.Row
	Line(base string, named func(path string) bool, line int) (int, []dwarfline.LineAddr)
	Files(yield func(path string) bool)
}

// searchable returns the file's debugging information, nil if it has none that can be searched.
func (f *File) searchable() inDWARF {
	t, _ := f.dwarf().(inDWARF)
	return t
}

// maxNative bounds the functions that are found for one name.
const maxNative = 1 << 12

// NativeNamed returns the functions that a name means, sorted by address: those with code of their own and inlined
// copies, and not Go's. more says that there are others.
func (f *File) NativeNamed(name string) (found []Native, more bool) {
	out := f.natives.get(name, func(name string) (out nativeFound) {
		p := names.NewPattern(name)
		return f.findNative(name, p.Own(), p.Matches)
	})
	return out.all, out.more
}

// NativeMatching returns the functions with code of their own whose names, in full or short, accept takes, sorted by
// address, and not Go's. more says that there are others.
func (f *File) NativeMatching(accept func(name string) bool) (found []Native, more bool) {
	either := func(name string) bool { return accept(name) || accept(names.Short(name)) }
	s := nativeSearch{f: f, accept: either, known: make(map[uint64]bool)}
	s.symbols("", "")
	if !f.Complete() {
		s.described("")
	}
	return s.sorted()
}

type nativeFound struct {
	all  []Native
	more bool
}

func (f *File) findNative(name, own string, accept func(string) bool) nativeFound {
	s := nativeSearch{f: f, accept: accept, known: make(map[uint64]bool)}
	if own != "" {
		s.described(own)
	}
	s.symbols(name, own)
	all, more := s.sorted()
	return nativeFound{all, more}
}

// nativeSearch looks for functions.
type nativeSearch struct {
	f      *File
	accept func(name string) bool
	known  map[uint64]bool // where functions with code of their own are entered
	found  []Native
	more   bool
}

func (s *nativeSearch) sorted() ([]Native, bool) {
	slices.SortStableFunc(s.found, func(a, b Native) int { return cmp.Compare(a.Entry, b.Entry) })
	return s.found, s.more
}

// described adds what DWARF has, by the functions' own name.
func (s *nativeSearch) described(own string) {
	t := s.f.searchable()
	if t == nil {
		return
	}
	takes := func(name string, c *dwarfline.Call) bool {
		return s.accept(name) || strings.ContainsAny(c.Name, "<{") && s.accept(ownName(name, c.Name))
	}
	all, more := t.Named(own, func(c *dwarfline.Call) bool { return c.Linkage == "" || takes(nameOf(c, ""), c) })
	for i := range all {
		if n := s.f.native(&all[i]); takes(n.Name, &all[i].Call) {
			s.add(n)
		}
	}
	s.more = s.more || more
}

// ownName returns a function's name with what DWARF has for the last part: Rust's mangled names, as they were for long, have neither
// arguments of generic functions nor the numbers of closures.
func ownName(name, own string) string {
	if i := strings.LastIndex(name, "::"); i >= 0 && !strings.ContainsAny(name, "<(") {
		return name[:i+2] + own
	}
	return name
}

// native returns a function that DWARF describes.
func (f *File) native(fn *dwarfline.Function) Native {
	symbol, _ := f.function(fn.Entry)
	if symbol.start != fn.Entry {
		symbol = function{}
	}
	return Native{
		ID: fn.ID, Name: nameOf(&fn.Call, symbol.name), Entry: fn.Entry, Ranges: ranges(fn.Ranges), Inner: ranges(fn.Inner),
		File: fn.File, Line: fn.Line, Inlined: fn.Inlined, Held: fn.Listed,
		Resolver: symbol.resolver && !fn.Inlined,
	}
}

func ranges(all []dwarfline.Range) (out []unwind.Range) {
	for _, r := range all {
		out = append(out, unwind.Range{Start: r.Low, End: r.High})
	}
	return out
}

func (s *nativeSearch) add(n Native) {
	switch {
	case s.f.IsGo(n.Entry) || !n.Inlined && s.known[n.Entry]:
		return
	case len(s.found) == maxNative:
		s.more = true
		return
	}
	if !n.Inlined {
		s.known[n.Entry] = true
	}
	s.found = append(s.found, n)
}

// symbols adds what symbols name: all of them if no name is given.
func (s *nativeSearch) symbols(name, own string) {
	for symbol, start := range s.f.functions().named {
		if s.more {
			return
		}
		if s.known[start] || !s.names(symbol, name, own) || s.f.IsGo(start) {
			continue
		}
		n, ok := s.f.bySymbol(symbol, start)
		if ok {
			s.add(n)
		}
	}
}

// names says whether a symbol is one of the functions that are looked for. A part that is moved out of a function
// is none.
func (s *nativeSearch) names(symbol, name, own string) bool {
	if symbol == name && name != "" {
		return true
	}
	if symbol == "" || fragment(symbol) {
		return false
	}
	plain, _, clone := strings.Cut(symbol, ".")
	if own != "" && !strings.HasPrefix(symbol, "_") { // to demangle all takes long
		return symbol == own && s.accept(symbol) || clone && plain == own && s.accept(plain)
	}
	if own != "" && isWord(own) && !strings.Contains(symbol, own) {
		return false
	}
	return s.accept(names.Demangle(symbol))
}

// bySymbol returns the function that a symbol is at.
func (f *File) bySymbol(symbol string, start uint64) (n Native, ok bool) {
	if t := f.searchable(); t != nil {
		if all := t.FunctionsAt(start); len(all) > 0 {
			if n = f.native(&all[len(all)-1]); n.Entry == start {
				n.Name = names.Demangle(symbol)
				return n, true
			}
		}
	}
	fn, ok := f.function(start)
	return symbolOnly(symbol, fn, start), ok
}

// NativeAt returns the functions that the instruction at vaddr belongs to: the innermost inlined copy first, the
// function itself last. It is empty for Go code, and where nothing is known.
func (f *File) NativeAt(vaddr uint64) (all []Native) {
	if f.IsGo(vaddr) {
		return nil
	}
	if t := f.searchable(); t != nil {
		for _, fn := range t.FunctionsAt(vaddr) {
			all = append(all, f.native(&fn))
		}
	}
	if len(all) > 0 {
		return all
	}
	fn, ok := f.function(vaddr)
	if !ok {
		return nil
	}
	return []Native{symbolOnly(fn.name, fn, fn.start)}
}

// symbolOnly is a function of which a symbol is all that is known.
func symbolOnly(name string, fn function, start uint64) Native {
	return Native{Name: names.Demangle(name), Entry: start, Ranges: []unwind.Range{{Start: start, End: fn.end}}, Symbol: true, Resolver: fn.resolver}
}

// NativeRows returns the rows of the line table for the code from low up to high, in the order of their addresses.
// Of several that begin at one address the last has the code.
func (f *File) NativeRows(low, high uint64) []dwarfline.Row {
	if t := f.searchable(); t != nil && !f.IsGo(low) {
		return t.RowsIn(low, high)
	}
	return nil
}

// NativeLine returns where the rows of a line begin that are statements, or those of the next line that has some: in
// the files with paths that named takes, whose last element is base.
func (f *File) NativeLine(base string, named func(path string) bool, line int) (at int, found []dwarfline.LineAddr) {
	t := f.searchable()
	if t == nil {
		return 0, nil
	}
	return t.Line(base, named, line)
}

// NativeSources yields the paths of sources of code that is not Go's; some more than once.
func (f *File) NativeSources(yield func(path string) bool) {
	if t := f.searchable(); t != nil {
		t.Files(yield)
	}
}
