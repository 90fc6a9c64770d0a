package symbols

import (
	"cmp"
	"debug/elf"
	"iter"
	"slices"
	"sort"
	"strings"
	"unicode"

	"github.com/clewdbg/clew/internal/elffile"
	"github.com/clewdbg/clew/server/names"
)

// function is a function of the symbol tables.
type function struct {
	start, end uint64
	name       string // as in the file
	reach      uint64 // the highest end of this function and all before it
	sized      bool   // the symbol has a size: end is its own
	resolver   bool   // it chooses at run time which function is called by its name
	guess      bool   // what lies behind start may be another function: end is no proof
	rank       int    // which of several names for one address to prefer; higher is better
}

// functions are those of a file, sorted by address: one for each address, and its other names (in
// glibc `nanosleep` is one of `__nanosleep`).
type functions struct {
	all     []function
	aliases []alias
}

// alias is another name for a function.
type alias struct {
	name  string
	start uint64
}

// onePerAddress keeps the best function at each address, and of equal ones the first.
func onePerAddress(found []function) (out functions) {
	all := sorted(found)
	for i := range all {
		if i > 0 && all[i].start == all[i-1].start && all[i].name != "" && all[i].name != all[i-1].name {
			out.aliases = append(out.aliases, alias{all[i].name, all[i].start})
		}
	}
	out.all = slices.CompactFunc(all, func(a, b function) bool { return a.start == b.start })
	return out
}

// named yields every name with its address.
func (f functions) named(yield func(name string, start uint64) bool) {
	for i := range f.all {
		if !yield(f.all[i].name, f.all[i].start) {
			return
		}
	}
	for _, a := range f.aliases {
		if !yield(a.name, a.start) {
			return
		}
	}
}

// Bounds says where a function begins and ends. Exact is false where Start may
// not be an entry that is called: the symbol has no size, so that code without
// a symbol may lie between it and the address (End is then where the next one
// begins), or it is a fragment.
type Bounds struct {
	Name       string // demangled
	Start, End uint64
	Exact      bool
	// Whole is the start of the function that this is a fragment of. It is 0 if this is
	// a whole function, or if the start is unknown.
	Whole uint64
}

// maxFunctions bounds the functions of a file: the largest programs have two million.
const maxFunctions = 8 << 20

// readFunctions reads the functions of .symtab and .dynsym; debug is the separate debug file, or the small one within, nil if there
// is none. A file without section headers has dynamic symbols all the same. bound
// is told of them before they count.
func readFunctions(f, debug *elf.File, moved uint64, bound func([]function)) functions {
	var found []function
	add := func(f *elf.File, symbols iter.Seq2[int, elf.Symbol]) {
		for _, s := range symbols {
			if fn, ok := functionOf(f, s); ok && len(found) < maxFunctions {
				found = append(found, fn)
			}
		}
	}
	add(f, elffile.Symbols(f, elf.SHT_SYMTAB))
	add(f, elffile.Symbols(f, elf.SHT_DYNSYM))
	if len(f.Sections) == 0 {
		add(f, slices.All(dynamicSymbols(f, moved)))
	}
	if debug != nil {
		add(debug, elffile.Symbols(debug, elf.SHT_SYMTAB))
	}
	table := onePerAddress(append(found, pltFunctions(f)...))
	out := dropLabels(table.all)
	for i := range out {
		if !out[i].sized {
			out[i].end = sectionEnd(f, out[i].start)
			if i+1 < len(out) && out[i+1].start < out[i].end {
				out[i].end = out[i+1].start
			}
		}
	}
	bound(out)
	setReach(out)
	table.all = out
	return table
}

// dropLabels removes symbols without a size that lie inside a function with one.
//
// Situation: hand-written assembly exports labels in the middle of a function,
// which would hide where the function starts. Example: "loop" in "copy" of
// TestFunctionBounds.
func dropLabels(all []function) []function {
	end := uint64(0) // of the functions with a size so far
	return slices.DeleteFunc(all, func(fn function) bool {
		if fn.sized {
			end = max(end, fn.end)
			return false
		}
		return fn.start < end
	})
}

// sorted returns functions by address. Large libraries have a hundred thousand: what is sorted is where each is.
func sorted(found []function) []function {
	type place struct {
		start uint64
		index int
	}
	places := make([]place, len(found))
	for i := range found {
		places[i] = place{found[i].start, i}
	}
	slices.SortFunc(places, func(a, b place) int {
		if c := cmp.Compare(a.start, b.start); c != 0 {
			return c
		}
		return cmp.Or(byAddress(found[a.index], found[b.index]), cmp.Compare(a.index, b.index))
	})
	all := make([]function, len(found))
	for i := range places {
		all[i] = found[places[i].index]
	}
	return all
}

// byAddress orders functions by address, and of several names for one the best first.
func byAddress(a, b function) int {
	switch {
	case a.start != b.start:
		return cmp.Compare(a.start, b.start)
	case a.rank != b.rank:
		return b.rank - a.rank
	}
	return strings.Compare(a.name, b.name)
}

// setReach sets how far the functions up to each reach.
func setReach(all []function) {
	reach := uint64(0)
	for i := range all {
		reach = max(reach, all[i].end)
		all[i].reach = reach
	}
}

// functionOf says whether a symbol names code, and which.
func functionOf(f *elf.File, s elf.Symbol) (function, bool) {
	kind, bind := elf.ST_TYPE(s.Info), elf.ST_BIND(s.Info)
	if !inCode(f, s) {
		return function{}, false
	}
	// Mapping symbols ($x, $d) mark code and data on ARM; they name nothing.
	if s.Name == "" || strings.HasPrefix(s.Name, "$") {
		return function{}, false
	}
	fn := function{start: s.Value, end: s.Value + s.Size, name: s.Name, sized: s.Size > 0 && s.Value+s.Size > s.Value}
	switch kind {
	case elf.STT_FUNC, elf.STT_GNU_IFUNC:
		fn.rank += 4
	case elf.STT_NOTYPE: // hand-written assembly; local ones are labels within a function
		if bind == elf.STB_LOCAL {
			return function{}, false
		}
	default:
		return function{}, false
	}
	fn.resolver = kind == elf.STT_GNU_IFUNC
	if fn.sized {
		fn.rank += 2
	}
	if bind == elf.STB_GLOBAL {
		fn.rank++
	}
	return fn, true
}

// inCode says whether a symbol lies in code.
func inCode(f *elf.File, s elf.Symbol) bool {
	if len(f.Sections) == 0 {
		_, ok := codeSegment(f, s.Value)
		return s.Section != elf.SHN_UNDEF && ok
	}
	return int(s.Section) > 0 && int(s.Section) < len(f.Sections) && f.Sections[s.Section].Flags&elf.SHF_EXECINSTR != 0
}

// codeSegment returns the executable segment that an address lies in.
func codeSegment(f *elf.File, vaddr uint64) (*elf.Prog, bool) {
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && vaddr >= p.Vaddr && vaddr-p.Vaddr < p.Memsz {
			return p, true
		}
	}
	return nil, false
}

// sectionEnd is the end of the section that holds addr, or of the segment where
// there are no sections.
func sectionEnd(f *elf.File, addr uint64) uint64 {
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC != 0 && addr >= s.Addr && addr-s.Addr < s.Size {
			return s.Addr + s.Size
		}
	}
	if p, ok := codeSegment(f, addr); ok && len(f.Sections) == 0 {
		return p.Vaddr + p.Memsz
	}
	return addr
}

// function returns the function that vaddr lies in. Functions may nest (a symbol
// for a part of another): the innermost wins.
func (f *File) function(vaddr uint64) (function, bool) {
	all := f.functions().all
	i := sort.Search(len(all), func(i int) bool { return all[i].start > vaddr })
	const nesting = 64 // bounds the search in a hostile table
	for n := 0; i > 0 && n < nesting && vaddr < all[i-1].reach; n++ {
		i--
		if vaddr < all[i].end {
			return all[i], true
		}
	}
	return f.nativeInGoTable(vaddr)
}

// nativeInGoTable finds a C function that Go's internal linker took into Go's
// table: a stripped program has its name nowhere else.
func (f *File) nativeInGoTable(vaddr uint64) (function, bool) {
	t := f.GoTable()
	if t == nil {
		return function{}, false
	}
	fn, ok := t.Func(vaddr)
	if !ok || fn.HasTables() {
		return function{}, false
	}
	name := fn.Name()
	if name == "" || strings.HasPrefix(name, "go:") { // the linker's markers
		return function{}, false
	}
	return function{start: fn.Entry, end: fn.End, name: name, sized: true}, true
}

// fragment reports whether a symbol names a piece of a function that is jumped
// to, not called.
//
// Situation: gcc moves unlikely code elsewhere, under a symbol of its own that
// starts in the middle of the function's life: a frame stands already. Example:
// "main.cold". A simulation of the prologue must not begin there. LLVM's
// "f.cold.1" is called, so for it this only means less trust. dyld_stub_binder is
// jumped to with two words on the stack, which __stub_helper has pushed (Apple's
// lazy binding).
func fragment(name string) bool {
	return strings.HasSuffix(name, ".cold") || strings.Contains(name, ".cold.") || name == "dyld_stub_binder"
}

// FunctionBounds returns the function that vaddr lies in, by the symbol tables.
func (f *File) FunctionBounds(vaddr uint64) (Bounds, bool) {
	fn, ok := f.function(vaddr)
	if !ok {
		return Bounds{}, false
	}
	b := Bounds{Name: names.Demangle(fn.name), Start: fn.start, End: fn.end, Exact: fn.sized && !fragment(fn.name)}
	if name, _, cold := strings.Cut(fn.name, ".cold"); cold {
		b.Whole = f.uniqueAddress(name)
	}
	return b, true
}

// uniqueAddress returns the address of the function with a name, as in the file; 0 if there is
// none, or more than one (static functions of several units).
func (f *File) uniqueAddress(name string) (start uint64) {
	for known, at := range f.functions().named {
		if known == name {
			if start != 0 && start != at {
				return 0
			}
			start = at
		}
	}
	return start
}

// isCalled reports whether a mangled name is that of a function that users call by name.
func isCalled(mangled, name string) bool {
	last := name[strings.LastIndexAny(name, ":.")+1:]                                         // of a name in Go, too
	if !strings.HasPrefix(mangled, "_") || isWord(last) && !strings.Contains(mangled, last) { // to demangle all takes long
		return false
	}
	demangled := names.Demangle(mangled)
	return demangled == name || demangled != mangled && names.Short(demangled) == name
}

// isWord says whether a name has letters, digits and underscores alone.
func isWord(name string) bool {
	return strings.IndexFunc(name, func(c rune) bool { return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) }) < 0
}

// Complete says whether the file, or its separate debug file, has a full table of
// symbols, not only of those that it exports: then code that lies in none of its
// functions belongs to no function.
func (f *File) Complete() bool {
	return f.fullSymbols() && len(f.functions().all) > 0
}

// Find returns the addresses of the functions with that name: as in the file, demangled, or
// without arguments of templates and functions.
func (f *File) Find(name string) []uint64 { return f.named.get(name, f.find) }

func (f *File) find(name string) []uint64 {
	var out []uint64
	for known, start := range f.functions().named {
		if (known == name || isCalled(known, name)) && !slices.Contains(out, start) {
			out = append(out, start)
		}
	}
	if t := f.GoTable(); t != nil {
		for i := range t.Len() {
			if fn, ok := t.At(i); ok && fn.HasTables() && fn.NameIs(name) && !slices.Contains(out, fn.Entry) {
				out = append(out, fn.Entry)
			}
		}
	}
	return out
}
