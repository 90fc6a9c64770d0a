package symbols

import (
	"slices"
	"sync"

	"github.com/clewdbg/clew/server/names"
)

// Call is a function that an instruction belongs to, and the source line there.
type Call struct {
	Function string // demangled
	File     string // "" if unknown
	Line     int    // 0 if unknown
	Column   int    // 0 if unknown
	// Described says that the tables of the compiler (DWARF, or Go's own) have the
	// function and all that is inlined there, so that nothing is missing in the chain.
	// Else the name is a symbol's.
	Described bool
	// Label is where Function's symbol is, if that is all that is known: the
	// instruction may belong to another function behind it. 0 for certain ones.
	Label uint64
}

// Calls returns the functions that the instruction at vaddr belongs to: the
// innermost inlined one first, the physical function last. The name and the place of
// a call come from the same entry. It is empty where nothing is known. The slice must
// not be changed.
func (f *File) Calls(vaddr uint64) []Call {
	if t := f.GoTable(); t != nil {
		if fn, ok := t.Func(vaddr); ok && fn.HasTables() {
			calls, err := fn.Calls(vaddr)
			if err != nil {
				f.goProblems.add(err)
			}
			var out []Call
			for _, c := range calls {
				out = append(out, Call{Function: c.Name, File: c.File, Line: c.Line, Described: err == nil})
			}
			return out
		}
	}
	return f.calls.get(vaddr, f.nativeCalls)
}

// IsGo says whether the instruction at vaddr is of a function that Go's own table
// describes.
func (f *File) IsGo(vaddr uint64) bool {
	t := f.GoTable()
	if t == nil {
		return false
	}
	fn, ok := t.Func(vaddr)
	return ok && fn.HasTables()
}

// HasDWARF says whether the file, or its separate debug file, describes its code in
// DWARF.
func (f *File) HasDWARF() bool { return f.dwarf() != nil }

// found are problems that were found later than the file was opened.
type found struct {
	mu  sync.Mutex
	all []error
}

// maxFound bounds them.
const maxFound = 8

// add adds one, once.
func (p *found) add(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.all) < maxFound && !slices.ContainsFunc(p.all, func(known error) bool { return known.Error() == err.Error() }) {
		p.all = append(p.all, err)
	}
}

func (p *found) list() []error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.all)
}

// cache holds what was found for code that is not Go's. Demangling takes longer
// than looking up, and a program's stacks have the same addresses again and again, as its steps
// have names.
type cache[K comparable, V any] struct {
	mu    sync.Mutex
	known map[K]V
}

// maxCached is how many addresses, or names, a cache holds.
const maxCached = 1 << 14

// get returns what is known of a key, which find returns the first time.
func (c *cache[K, V]) get(key K, find func(K) V) V {
	c.mu.Lock()
	found, ok := c.known[key]
	c.mu.Unlock()
	if ok {
		return found
	}
	found = find(key)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) == maxCached {
		c.known = make(map[K]V)
	}
	c.known[key] = found
	return found
}

// nativeCalls is Calls for code that is not Go's.
func (f *File) nativeCalls(vaddr uint64) []Call {
	fn, named := f.function(vaddr)
	if t := f.dwarf(); t != nil {
		if calls, err := t.Calls(vaddr); err == nil {
			if !calls[0].Function && calls[0].Line > 0 && !(named && fn.sized) {
				fn = f.assembled(t, vaddr, fn)
			}
			out := make([]Call, len(calls))
			for i := range calls {
				c := &calls[i]
				out[i] = Call{Function: nameOf(c, fn.name), File: c.File, Line: c.Line, Column: c.Column, Described: c.Function}
				if fn.guess && !c.Function {
					out[i].Label = fn.start
				}
			}
			return out
		}
	}
	if !named {
		return nil
	}
	c := Call{Function: names.Demangle(fn.name)}
	if fn.guess || !fn.sized && f.label(vaddr).start > fn.start { // a label of a function's, or a function
		c.Label = fn.start
	}
	return []Call{c}
}
