package codemap

import (
	"github.com/clewdbg/clew/server/symbols"
	"github.com/clewdbg/clew/unwind"
)

// Bound is an image with its file, as it is loaded.
type Bound struct {
	File *symbols.File
	Bias uint64 // to be added to addresses in the file
	Path string
}

// Files yields the images that have a file, and were loaded from one.
func (m *Map) Files(yield func(Bound) bool) {
	for _, img := range m.images {
		if img.file != nil && !img.generated && !yield(Bound{img.file, img.bias, img.Path}) {
			return
		}
	}
}

// FileAt returns the image that code lies in. Its file is nil where that is not known.
func (m *Map) FileAt(addr uint64) (Bound, bool) {
	img, ok := m.at(addr)
	if !ok {
		return Bound{}, false
	}
	return Bound{img.file, img.bias, img.Path}, true
}

// Fixed is memory with what images' files have of it where it has nothing: a core file leaves out what the program could not write to.
func (m *Map) Fixed(memory unwind.Memory) unwind.Memory { return fixed{memory, m} }

const page = 4 << 10

type fixed struct {
	unwind.Memory
	code *Map
}

// ReadMemory implements [unwind.Memory].
func (f fixed) ReadMemory(addr uint64, p []byte) error {
	err := f.Memory.ReadMemory(addr, p)
	if err == nil {
		return nil
	}
	for _, img := range f.code.images {
		if img.file == nil || img.generated || addr < img.bias {
			continue
		}
		// A mapping ends with a page, the file's part of it before that.
		if data := img.file.Contents(addr-img.bias, len(p)); len(data) > 0 && len(data)+page > len(p) && (len(data) == len(p) || len(p)%page == 0) {
			clear(p[copy(p, data):])
			return nil
		}
	}
	return err
}
