package symbols

import (
	"debug/elf"
	"encoding/binary"

	"github.com/clewdbg/clew/internal/elffile"
	"github.com/clewdbg/clew/internal/unwind/cfi"
	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// Model is the model of the file's code; nil where there is none: code of amd64 in an
// ELF file is modelled. It knows functions by their symbols and call-frame
// information.
func (f *File) Model() *codemodel.Image { return f.model() }

func (f *File) newModel() *codemodel.Image {
	ef, ok := f.object.(*elfFile)
	if !ok || ef.Arch() != unwind.AMD64 || ef.moved != 0 || ef.Relocatable() {
		return nil
	}
	return codemodel.New(unwind.AMD64, &modelled{file: f, elf: ef, frames: ef.frames(), slots: ownSlots(ef.File), names: pltSlots(ef.File)})
}

// modelled is a file as its model sees it. The model asks for one thing at a time.
type modelled struct {
	file   *File
	elf    *elfFile
	frames *cfi.Table        // nil if there is none
	slots  map[uint64]uint64 // of the dynamic linker, that lead into the file
	names  map[uint64]string
	page   []byte // the code that was read last
	at     uint64 // its address
}

// pageOfCode is how much code is read at once, in bytes.
const pageOfCode = 64 << 10

// Code implements [codemodel.Contents].
func (m *modelled) Code(addr uint64, n int) []byte {
	if n > pageOfCode/2 {
		return m.elf.Code(addr, n)
	}
	if off := addr - m.at; addr >= m.at && off < uint64(len(m.page)) && len(m.page)-int(off) >= n {
		return m.page[off : int(off)+n]
	}
	const before = pageOfCode / 4 // calls lead back as often as forth
	m.at = addr - min(addr, before)
	if m.page = m.elf.Code(m.at, pageOfCode); addr-m.at >= uint64(len(m.page)) {
		m.at = addr
		m.page = m.elf.Code(addr, pageOfCode)
	}
	code := m.page[min(addr-m.at, uint64(len(m.page))):]
	return code[:min(n, len(code))]
}

// Data implements [codemodel.Contents].
func (m *modelled) Data(addr uint64, n int) []byte {
	for _, p := range m.elf.Progs {
		if p.Type != elf.PT_LOAD || p.Flags&elf.PF_W != 0 || addr < p.Vaddr || addr-p.Vaddr >= p.Filesz {
			continue
		}
		out := make([]byte, n)
		if _, err := p.ReadAt(out, int64(addr-p.Vaddr)); err == nil {
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
	if fn, ok := m.file.function(addr); ok && fn.sized {
		return codemodel.Piece{Start: fn.start, End: fn.end, Part: fragment(fn.name)}, true
	}
	if m.frames == nil {
		return codemodel.Piece{}, false
	}
	fde, ok := m.frames.Find(addr)
	if !ok {
		return codemodel.Piece{}, false
	}
	row, err := m.frames.Row(&fde, fde.Start)
	if err != nil {
		return codemodel.Piece{}, false
	}
	atEntry := row.Rule()
	return codemodel.Piece{Start: fde.Start, End: fde.End, Part: atEntry.CFA != rule.Entry(unwind.AMD64).CFA}, true
}

// ownSlots are the slots that lead to what the file itself exports. (Another image's
// function of that name could take its place; it would come back as this one does.)
func ownSlots(f *elf.File) map[uint64]uint64 {
	var symbols []elf.Symbol
	for _, symbol := range elffile.Symbols(f, elf.SHT_DYNSYM) {
		symbols = append(symbols, symbol)
	}
	slots := make(map[uint64]uint64)
	eachSlot(f, func(at uint64, symbol uint32) {
		if int(symbol) <= len(symbols) && symbols[symbol-1].Section != elf.SHN_UNDEF {
			slots[at] = symbols[symbol-1].Value
		}
	})
	return slots
}

// eachSlot calls yield for each slot of the dynamic linker with its symbol's number,
// from 1 on.
func eachSlot(f *elf.File, yield func(at uint64, symbol uint32)) {
	for _, s := range f.Sections {
		if s.Type != elf.SHT_RELA || s.Flags&elf.SHF_ALLOC == 0 || s.Size > maxPLT {
			continue
		}
		data, err := s.Data()
		if err != nil {
			continue
		}
		const size = 24 // of an Elf64_Rela
		for ; len(data) >= size; data = data[size:] {
			info := binary.LittleEndian.Uint64(data[8:])
			kind, symbol := elf.R_X86_64(elf.R_TYPE64(info)), elf.R_SYM64(info)
			if (kind == elf.R_X86_64_JMP_SLOT || kind == elf.R_X86_64_GLOB_DAT) && symbol > 0 {
				yield(binary.LittleEndian.Uint64(data), symbol)
			}
		}
	}
}
