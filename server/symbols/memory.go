package symbols

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/imagemap/macho"
	"github.com/clewdbg/clew/unwind"
)

// Bounds on an image that is read from memory.
const (
	maxLoaded   = 256 << 20 // bytes
	maxSegments = 128
)

var (
	errNotLoaded = errors.New("memory holds no ELF image of 64 bits that could be read")
	errPrograms  = errors.New("invalid ELF header, or invalid program headers")
)

// Loaded reads an image from the memory of the process that has loaded it: its
// header at base; in ELF virtual addresses with the bias added. Parts
// that are not loaded are missing: in ELF section headers, all symbols but dynamic
// ones, DWARF. It is as the process sees it, so data may have changed since. read
// lists the ranges that were read, or may be.
func Loaded(memory io.ReaderAt, base, bias uint64) (f *File, read []unwind.Range, err error) {
	var magic [4]byte
	if _, err := memory.ReadAt(magic[:], int64(base)); err != nil {
		return nil, nil, err
	}
	if macho.IsHeader(magic[:]) {
		return loadedMachO(memory, base)
	}
	return loadedELF(memory, base, bias)
}

// loadedMachO reads an image with its header at base. Its contents are read when
// they are asked for.
func loadedMachO(memory io.ReaderAt, base uint64) (*File, []unwind.Range, error) {
	m, err := macho.Loaded(memory, base)
	if err != nil {
		return nil, nil, err
	}
	var read []unwind.Range
	for _, r := range m.Ranges() {
		if r.End-r.Start > maxLoaded {
			return nil, nil, fmt.Errorf("the %#x bytes at %#x are too many to be read from memory", r.End-r.Start, r.Start)
		}
		read = append(read, unwind.Range(r))
	}
	return newMachOFile(m), read, nil
}

func loadedELF(memory io.ReaderAt, base, bias uint64) (f *File, read []unwind.Range, err error) {
	headers, err := LoadedHeaders(memory, base)
	if err != nil {
		return nil, nil, err
	}
	image, read, err := readSegments(memory, bias, headers.Progs)
	if err != nil {
		return nil, nil, err
	}
	if len(image) < elfHeader || string(image[:4]) != elf.ELFMAG {
		return nil, nil, errNotLoaded
	}
	hideSections(image)
	ef, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return nil, nil, err
	}
	f = newFile(&elfFile{File: ef, moved: bias})
	f.buildID, _ = imagemap.ReadBuildID(bytes.NewReader(image))
	return f, read, nil
}

const elfHeader = 64 // bytes

// hideSections removes the section headers from a header of 64 bits: they are somewhere
// else in the file, or not at all.
func hideSections(header []byte) {
	clear(header[0x28:0x30]) // e_shoff
	clear(header[0x3c:0x40]) // e_shnum, e_shstrndx
}

// LoadedHeaders reads the header and the program headers of an ELF image of 64 bits from the
// memory of the process that has loaded it.
func LoadedHeaders(memory io.ReaderAt, base uint64) (*elf.File, error) {
	h := headers{memory: memory, base: base}
	if _, err := memory.ReadAt(h.first[:], int64(base)); err != nil {
		return nil, err
	}
	hideSections(h.first[:])
	n := binary.LittleEndian.Uint16(h.first[0x38:]) // e_phnum
	if elf.Data(h.first[elf.EI_DATA]) == elf.ELFDATA2MSB {
		n = bits.ReverseBytes16(n)
	}
	switch {
	case string(h.first[:4]) != elf.ELFMAG || elf.Class(h.first[elf.EI_CLASS]) != elf.ELFCLASS64:
		return nil, errNotLoaded
	case n == 0 || n > maxSegments:
		return nil, errPrograms
	}
	return elf.NewFile(&h)
}

// headers is an image in memory whose section headers are hidden.
type headers struct {
	memory io.ReaderAt
	base   uint64
	first  [elfHeader]byte
}

// ReadAt implements [io.ReaderAt].
func (h *headers) ReadAt(p []byte, off int64) (int, error) {
	if off < elfHeader {
		return copy(p, h.first[off:]), nil
	}
	return h.memory.ReadAt(p, int64(h.base+uint64(off)))
}

// readSegments reads the loaded segments to their places in the file.
func readSegments(memory io.ReaderAt, bias uint64, progs []*elf.Prog) (image []byte, read []unwind.Range, err error) {
	for _, p := range progs {
		if p.Type != elf.PT_LOAD || p.Filesz == 0 {
			continue
		}
		end := p.Off + p.Filesz
		if end < p.Off || end > maxLoaded {
			return nil, nil, fmt.Errorf("a segment of %#x bytes at offset %#x is too large to be read from memory", p.Filesz, p.Off)
		}
		if end > uint64(len(image)) {
			image = append(image, make([]byte, end-uint64(len(image)))...)
		}
		if _, err := memory.ReadAt(image[p.Off:end], int64(p.Vaddr+bias)); err != nil {
			return nil, nil, err
		}
		read = append(read, unwind.Range{Start: p.Vaddr + bias, End: p.Vaddr + bias + p.Filesz})
	}
	return image, read, nil
}
