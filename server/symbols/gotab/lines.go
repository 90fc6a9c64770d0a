package gotab

import (
	"iter"
	"slices"
)

// maxBoundaries bounds the places that are looked at for one line, so that a hostile table does
// not cost more.
const maxBoundaries = 1 << 16

// LineAddrs returns where the code of a source line begins: in each function, and in each call
// that is inlined into one, the first instruction of that line. A line that has no
// instruction of its own, but calls that are inlined there, has the first of theirs.
func (t *Table) LineAddrs(file string, line int) (out []uint64) {
	var called []uint64
	left := maxBoundaries
	for i := range t.nfunc {
		f, ok := t.At(i)
		if !ok || !f.HasTables() || !f.hasFile(file) {
			continue
		}
		at := f.boundaries(left)
		left -= len(at)
		own, inlined := f.lineAddrs(at, file, line)
		out = append(out, own...)
		called = append(called, inlined...)
	}
	if len(out) == 0 {
		return called
	}
	return out
}

// lineAddrs returns those of one function, of the places where something changes: of the line
// itself, and of calls on it that are inlined.
func (f Func) lineAddrs(at []uint64, file string, line int) (own, called []uint64) {
	inlined, _ := f.pcdataOff(pcdataInlTreeIndex)
	found := make(map[int32]bool) // calls, by their index in the inline tree
	for _, pc := range at {
		index, _ := f.pcvalue(inlined, pc)
		inner := true
		calls, _ := f.Calls(pc)
		for _, c := range calls {
			switch is := c.Line == line && c.File == file; {
			case is && inner && !found[index]:
				found[index] = true
				own = append(own, pc)
			case is && !inner && len(called) == 0:
				called = append(called, pc)
			}
			inner = false
		}
	}
	return own, called
}

// boundaries are the addresses at which the line, the file or the inlined call changes, at most
// as many as that.
func (f Func) boundaries(most int) []uint64 {
	out := []uint64{f.Entry}
	inlined, _ := f.pcdataOff(pcdataInlTreeIndex)
	for _, off := range []uint32{f.pcln, f.pcfile, inlined} {
		for _, end := range f.values(off) {
			if end >= f.End || len(out) >= most {
				break
			}
			out = append(out, end)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// hasFile says whether code of a file is in a function.
func (f Func) hasFile(file string) bool {
	for number := range f.values(f.pcfile) {
		if string(f.fileName(number)) == file {
			return true
		}
	}
	return false
}

// values yields the values of a table, each with the address up to which it holds.
func (f Func) values(off uint32) iter.Seq2[int32, uint64] {
	return func(yield func(int32, uint64) bool) {
		p, steps := f.pctable(off)
		value, end := int32(-1), f.Entry
		for i := range steps {
			delta, pcdelta, n := step(p, i)
			if n == 0 {
				return
			}
			p = p[n:]
			value += delta
			end += uint64(pcdelta) * f.t.quantum
			if !yield(value, end) {
				return
			}
		}
	}
}
