package codemap

import (
	"iter"

	"github.com/clewdbg/clew/server/symbols"
	"github.com/clewdbg/clew/server/symbols/dwarfline"
	"github.com/clewdbg/clew/unwind"
)

// Described is an image's debugging information, and what is to be added to its addresses.
type Described struct {
	Table *dwarfline.Table
	Bias  uint64
	Path  string
	// Index is the image's in [Map.Images].
	Index int
}

// Described returns the debugging information of the image with an address of code.
func (m *Map) Described(at unwind.LookupAddr) (d Described, ok bool) {
	img, ok := m.at(uint64(at))
	if !ok {
		return d, false
	}
	for i, known := range m.images {
		if known == img {
			return described(i, img)
		}
	}
	return d, false
}

// AllDescribed yields the debugging information of every image that has some.
func (m *Map) AllDescribed() iter.Seq[Described] {
	return func(yield func(Described) bool) {
		for i, img := range m.images {
			if d, ok := described(i, img); ok && !yield(d) {
				return
			}
		}
	}
}

func described(i int, img *image) (d Described, ok bool) {
	if img.file == nil {
		return d, false
	}
	d = Described{Table: img.file.DWARF(), Bias: img.bias, Path: img.Path, Index: i}
	return d, d.Table != nil
}

// ExecutableTLS returns the thread-local storage of an image, by its index in [Map.Images], if it is the executable. The C library has an entry
// point too.
func (m *Map) ExecutableTLS(index int) (t symbols.TLS, ok bool) {
	img := m.images[index]
	if file := img.file; file != nil && file.EntryPoint() != 0 && !isLibc(img.Path) {
		return file.TLS()
	}
	return t, false
}
