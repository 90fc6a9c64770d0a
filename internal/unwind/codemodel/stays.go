package codemodel

// maxPieces bounds the pieces of code that one question follows.
const maxPieces = 64

// Stays reports whether it is proven that code entered by a call at entry is not at a place
// before it returns: all that it reaches by jumps is known, and the place is not in it.
// Calls are passed by, as far as they come back.
func (m *Image) Stays(entry, place uint64) bool {
	seen := make(map[uint64]bool)
	work := []uint64{entry}
	for len(work) > 0 {
		at := work[len(work)-1]
		work = work[:len(work)-1]
		f := m.At(at)
		switch {
		case f == nil || f.table == nil || !f.table.Whole || f.Start != at: // also a part that was moved away
			return false
		case place >= f.Start && place <= f.End: // a return address may be the end
			return false
		case seen[at]:
			continue
		case len(seen) == maxPieces:
			return false
		}
		seen[at] = true
		work = append(work, f.table.Jumps...)
	}
	return true
}
