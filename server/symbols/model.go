package symbols

import (
	"debug/elf"

	"github.com/clewdbg/clew/internal/unwind/cfi"
	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/unwind"
)

// Model is the model of the file's code: of amd64 or arm64. It is nil for other files, and for
// ELF files that were read from memory. It knows functions by their symbols, the
// linker's list of them and call-frame information, and finds the others.
func (f *File) Model() *codemodel.Image { return f.model() }

func (f *File) newModel() *codemodel.Image {
	arch := f.Arch()
	if arch != unwind.AMD64 && arch != unwind.ARM64 || f.Relocatable() {
		return nil
	}
	switch o := f.object.(type) {
	case *machoFile:
		return codemodel.New(arch, newModelledMachO(f, o))
	case *elfFile:
		if o.moved == 0 {
			m := &modelled{pages: pages{file: f}, elf: o, frames: o.frames()}
			m.relocate()
			return codemodel.New(arch, m)
		}
	}
	return nil
}

// modelled is a file as its model sees it. The model asks for one thing at a time.
type modelled struct {
	pages
	elf    *elfFile
	frames *cfi.Table        // nil if there is none
	slots  map[uint64]uint64 // of the dynamic linker, that lead into the file
	names  map[uint64]string
	// relative are words with addresses of the image itself, sorted; resolvers are functions
	// that choose others when the image is loaded.
	relative  []word
	resolvers []uint64
}

// pages read a file's code for a model.
type pages struct {
	file *File
	page []byte // the code that was read last
	at   uint64 // its address
}

// pageOfCode is how much code is read at once, in bytes.
const pageOfCode = 64 << 10

// Code implements [codemodel.Contents].
func (m *pages) Code(addr uint64, n int) []byte {
	if n > pageOfCode/2 {
		return m.file.Code(addr, n)
	}
	if off := addr - m.at; addr >= m.at && off < uint64(len(m.page)) && len(m.page)-int(off) >= n {
		return m.page[off : int(off)+n]
	}
	const before = pageOfCode / 4 // calls lead back as often as forth
	m.at = addr - min(addr, before)
	if m.page = m.file.Code(m.at, pageOfCode); addr-m.at >= uint64(len(m.page)) {
		m.at = addr
		m.page = m.file.Code(addr, pageOfCode)
	}
	code := m.page[min(addr-m.at, uint64(len(m.page))):]
	return code[:min(n, len(code))]
}

// Data implements [codemodel.Contents].
func (m *modelled) Data(addr uint64, n int) []byte {
	for _, p := range m.elf.Progs {
		if p.Type != elf.PT_LOAD || addr < p.Vaddr || addr-p.Vaddr >= p.Filesz || !m.isConstant(p, addr, n) {
			continue
		}
		out := make([]byte, n)
		if _, err := p.ReadAt(out, int64(addr-p.Vaddr)); err == nil {
			m.fill(addr, out)
			return out
		}
	}
	return nil
}

// Slot implements [codemodel.Contents].
func (m *modelled) Slot(addr uint64) (uint64, string) {
	if own := m.slots[addr]; own != 0 {
		return own, ""
	}
	return 0, m.names[addr]
}

// Bounds implements [codemodel.Contents].
func (m *modelled) Bounds(addr uint64) (codemodel.Piece, bool) {
	var fde cfi.FDE
	tabled := false
	if m.frames != nil {
		fde, tabled = m.frames.Find(addr)
	}
	if fn, ok := m.file.function(addr); ok && fn.sized {
		// Nor does a call enter what the dynamic linker jumps to with words pushed.
		part := fragment(fn.name) || tabled && fde.Start == fn.start && m.isPart(&fde)
		return codemodel.Piece{Start: fn.start, End: fn.end, Part: part, Tabled: tabled}, true
	}
	if !tabled {
		return codemodel.Piece{}, false
	}
	return codemodel.Piece{Start: fde.Start, End: fde.End, Part: m.isPart(&fde), Tabled: true}, true
}
