package symbols

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/imagemap/macho"
	"github.com/clewdbg/clew/unwind"
)

// Bounds on an image that is read from memory.
const (
	maxLoaded   = 256 << 20 // bytes
	maxSegments = 128
)

var errNotLoaded = errors.New("memory holds no ELF image of 64 bits that could be read")

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
	var header elf.Header64
	raw := make([]byte, binary.Size(header))
	if _, err := memory.ReadAt(raw, int64(base)); err != nil {
		return nil, nil, err
	}
	order, ok := byteOrder(raw)
	if !ok {
		return nil, nil, errNotLoaded
	}
	if err := binary.Read(bytes.NewReader(raw), order, &header); err != nil {
		return nil, nil, err
	}
	progs, err := readPrograms(memory, base, order, &header)
	if err != nil {
		return nil, nil, err
	}
	image, read, err := readSegments(memory, bias, progs)
	if err != nil {
		return nil, nil, err
	}
	if len(image) < len(raw) || !bytes.Equal(image[:4], raw[:4]) {
		return nil, nil, errNotLoaded
	}
	// The section headers are somewhere else in the file, or not at all.
	header.Shoff, header.Shnum, header.Shstrndx = 0, 0, 0
	var patched bytes.Buffer
	if err := binary.Write(&patched, order, &header); err != nil {
		return nil, nil, err
	}
	copy(image, patched.Bytes())
	ef, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return nil, nil, err
	}
	f = newFile(&elfFile{File: ef, moved: bias})
	f.buildID, _ = imagemap.ReadBuildID(bytes.NewReader(image))
	return f, read, nil
}

// readSegments reads the loaded segments to their places in the file.
func readSegments(memory io.ReaderAt, bias uint64, progs []elf.Prog64) (image []byte, read []unwind.Range, err error) {
	for _, p := range progs {
		if elf.ProgType(p.Type) != elf.PT_LOAD || p.Filesz == 0 {
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

// byteOrder returns the byte order of a 64-bit ELF file by its first bytes.
func byteOrder(ident []byte) (binary.ByteOrder, bool) {
	if string(ident[:4]) != elf.ELFMAG || elf.Class(ident[elf.EI_CLASS]) != elf.ELFCLASS64 {
		return nil, false
	}
	switch elf.Data(ident[elf.EI_DATA]) {
	case elf.ELFDATA2LSB:
		return binary.LittleEndian, true
	case elf.ELFDATA2MSB:
		return binary.BigEndian, true
	}
	return nil, false
}

func readPrograms(memory io.ReaderAt, base uint64, order binary.ByteOrder, h *elf.Header64) ([]elf.Prog64, error) {
	progs := make([]elf.Prog64, h.Phnum)
	if h.Phnum == 0 || h.Phnum > maxSegments || int(h.Phentsize) != binary.Size(elf.Prog64{}) {
		return nil, errNotLoaded
	}
	raw := make([]byte, binary.Size(progs))
	if _, err := memory.ReadAt(raw, int64(base+h.Phoff)); err != nil {
		return nil, err
	}
	return progs, binary.Read(bytes.NewReader(raw), order, progs)
}
