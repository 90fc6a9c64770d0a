package symbols

// Call is a function that an instruction belongs to, and the source line there.
type Call struct {
	Function string // demangled
	File     string // "" if unknown
	Line     int    // 0 if unknown
}

// Calls returns the functions that the instruction at vaddr belongs to: the
// innermost inlined one first, the physical function last. Inlined functions
// are known for Go code only. It is empty where nothing is known.
func (f *File) Calls(vaddr uint64) []Call {
	if t := f.GoTable(); t != nil {
		if fn, ok := t.Func(vaddr); ok && fn.HasTables() {
			var out []Call
			for c := range fn.Calls(vaddr) {
				out = append(out, Call{c.Name, c.File, c.Line})
			}
			return out
		}
	}
	fn, ok := f.function(vaddr)
	file, line := f.lines().find(vaddr)
	if !ok && file == "" {
		return nil
	}
	return []Call{{Demangle(fn.name), file, line}}
}
