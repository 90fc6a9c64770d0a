package codemap

import "github.com/clewdbg/clew/server/symbols"

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
