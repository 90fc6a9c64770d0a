package snapshot

import (
	"math"

	"github.com/clewdbg/clew/unwind"
)

// Readable returns the range of memory around addr that can be read. It is empty
// where addr cannot be read. A range that ends with the address space's last
// byte has End 2^64-1, one less than it is.
func (m *Memory) Readable(addr uint64) unwind.Range {
	w, ok := m.find(addr)
	if !ok {
		return unwind.Range{}
	}
	end := w.Addr + uint64(len(w.Data))
	if end < w.Addr {
		end = math.MaxUint64
	}
	return unwind.Range{Start: w.Addr, End: end}
}
