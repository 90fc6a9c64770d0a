package symbols

import (
	"debug/elf"
	"io"
	"iter"

	"github.com/clewdbg/clew/server/symbols/gotab"
)

// An image that was read from memory has no sections: Go's table is somewhere in a
// segment, found by its magic number and proved by its moduledata, whose addresses
// the loader has moved.

// inMemory says that there are segments only, as in files without section headers.
func (f *elfFile) inMemory() bool { return len(f.Sections) == 0 }

// goMoved implements [goSource].
func (f *elfFile) goMoved() uint64 { return f.moved }

// segments yields the segments of an image in memory that have all these flags, and
// where they lie; none of a file with sections.
func (f *elfFile) segments(flags elf.ProgFlag) iter.Seq2[[]byte, uint64] {
	return func(yield func([]byte, uint64) bool) {
		if !f.inMemory() {
			return
		}
		for _, p := range f.Progs {
			if p.Type != elf.PT_LOAD || p.Flags&flags != flags || p.Filesz > maxLoaded {
				continue
			}
			data, err := io.ReadAll(p.Open()) // as much as there is, whatever the header claims
			if err == nil && uint64(len(data)) == p.Filesz && !yield(data, p.Vaddr) {
				return
			}
		}
	}
}

// goTableLoaded finds the segment that holds the table. Before Go 1.26 that of a
// position-independent program is where the loader has written.
func (f *elfFile) goTableLoaded() (data []byte, addr uint64, named bool) {
	for data, addr := range f.segments(elf.PF_R) {
		if table, _ := gotab.Find(data, 0, f.Order()); table != nil {
			return data, addr, false
		}
	}
	return nil, 0, false
}
