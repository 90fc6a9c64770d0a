package symbols

// tailCaller is debugging information that has call sites.
type tailCaller interface {
	Entry(addr uint64) (entry uint64, ok bool)
	TailCalls(ret, entry uint64, find func(name string) []uint64) []uint64
}

// jump asks how the function at an entry was reached from the call that returns to ret.
type jump struct{ ret, entry uint64 }

// TailCalls returns the functions that have no frame any more because they jumped on, where
// the call that returns to ret led to the function with the instruction at callee: the
// last one first, each as [File.Calls] has it. It is empty where that function was
// called directly, and where it is not certain how it was reached. The slice must not
// be changed.
func (f *File) TailCalls(ret, callee uint64) []Call {
	t, ok := f.dwarf().(tailCaller)
	if !ok {
		return nil
	}
	entry, ok := t.Entry(callee)
	if !ok {
		fn, named := f.function(callee)
		if !named || fn.guess || fragment(fn.name) {
			return nil
		}
		entry = fn.start
	}
	return f.jumps.get(jump{ret, entry}, func(j jump) (out []Call) {
		for _, at := range t.TailCalls(j.ret, j.entry, f.withName) {
			out = append(out, f.Calls(at)...)
		}
		return out
	})
}

// withName returns the address of the one function with a name, as in the file.
func (f *File) withName(name string) []uint64 {
	if at := f.uniqueAddress(name); at != 0 {
		return []uint64{at}
	}
	return nil
}
