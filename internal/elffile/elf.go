package elffile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Bounds on the headers of sections. The linkers of most systems write a few dozen, an
// object file may have one for each function.
const (
	maxSections = 1 << 17
	maxNames    = 32 << 20 // bytes of all their names
)

// HeaderError says that the section headers would cost more than they may.
type HeaderError struct{ What string }

// Error says what is too much.
func (e *HeaderError) Error() string { return "section headers: " + e.What }

// File is an ELF file that [Open] has opened.
type File struct {
	*elf.File
	LeftOut *LeftOutError // nil if nothing is
	Info    fs.FileInfo   // of the file that was opened
	file    *os.File
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// Open opens an ELF file.
func Open(path string) (*File, error) {
	file, info, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	f, left, err := New(file, info.Size(), Stored(info))
	if err != nil {
		_ = file.Close() // nothing was written
		return nil, err
	}
	return &File{f, left, info, file}, nil
}

// New reads the headers of an ELF file of size bytes, of which stored are on disk.
func New(r io.ReaderAt, size, stored int64) (*elf.File, *LeftOutError, error) {
	whole := io.NewSectionReader(r, 0, size)
	if err := checkHeaders(whole); err != nil {
		return nil, nil, err
	}
	f, err := elf.NewFile(whole)
	if err != nil {
		return nil, nil, err
	}
	return f, fit(f, size, free(size, stored)), nil
}

// checkHeaders bounds the number of sections, and the bytes of their names, which
// debug/elf copies one by one. What is wrong with the headers otherwise debug/elf says.
func checkHeaders(r io.ReaderAt) error {
	h, err := readTable(r)
	if err != nil || h.count == 0 {
		return nil // debug/elf says what is wrong
	}
	if h.count > maxSections {
		return &HeaderError{fmt.Sprintf("%d sections", h.count)}
	}
	raw := make([]byte, h.count*uint64(h.entry))
	if n, _ := r.ReadAt(raw, int64(h.offset)); n < len(raw) || h.names >= h.count {
		return nil
	}
	header := func(i uint64) elf.Section64 { return h.section(raw[i*uint64(h.entry):]) }
	table := header(h.names)
	if elf.SectionFlag(table.Flags)&elf.SHF_COMPRESSED != 0 {
		return &HeaderError{"the table of their names is compressed"}
	}
	names, err := readNames(io.NewSectionReader(r, int64(table.Off), int64(table.Size)), table.Size)
	if err != nil {
		return err
	}
	total := 0
	for i := range h.count {
		at := uint64(header(i).Name)
		if at >= uint64(len(names)) {
			continue
		}
		if total += max(0, bytes.IndexByte(names[at:], 0)); total > maxNames {
			return &HeaderError{fmt.Sprintf("names of more than %s", amount(maxNames))}
		}
	}
	return nil
}

func readNames(r io.Reader, size uint64) ([]byte, error) {
	if size > maxNames {
		return nil, &HeaderError{fmt.Sprintf("%s of names", amount(size))}
	}
	names, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("names of sections: %w", err)
	}
	return names, nil
}

// table is where the section headers are.
type table struct {
	class         elf.Class
	order         binary.ByteOrder
	offset, count uint64
	names         uint64 // the index of the section with their names
	entry         int    // the size of one, in bytes
}

var errNoTable = errors.New("no section headers that could be read")

// readTable reads where the section headers are. Where there are too many for the
// header's field, the first one tells (ELF gABI, "ELF Header", e_shnum, e_shstrndx).
func readTable(r io.ReaderAt) (t table, err error) {
	raw := make([]byte, binary.Size(elf.Header64{}))
	if n, _ := r.ReadAt(raw, 0); n < len(raw) || string(raw[:4]) != elf.ELFMAG {
		return t, errNoTable
	}
	t.class, t.order = elf.Class(raw[elf.EI_CLASS]), binary.LittleEndian
	if elf.Data(raw[elf.EI_DATA]) == elf.ELFDATA2MSB {
		t.order = binary.BigEndian
	}
	if t.class == elf.ELFCLASS32 {
		var h elf.Header32
		_, err = binary.Decode(raw, t.order, &h)
		t.offset, t.count, t.names, t.entry = uint64(h.Shoff), uint64(h.Shnum), uint64(h.Shstrndx), binary.Size(elf.Section32{})
	} else {
		var h elf.Header64
		_, err = binary.Decode(raw, t.order, &h)
		t.offset, t.count, t.names, t.entry = h.Shoff, uint64(h.Shnum), uint64(h.Shstrndx), binary.Size(elf.Section64{})
	}
	if err != nil || t.offset == 0 {
		return t, errNoTable
	}
	first := make([]byte, t.entry)
	if n, _ := r.ReadAt(first, int64(t.offset)); n < len(first) {
		return t, errNoTable
	}
	if s := t.section(first); t.count == 0 {
		t.count = s.Size
		if t.names == uint64(elf.SHN_XINDEX) {
			t.names = uint64(s.Link)
		}
	}
	return t, nil
}

// section decodes a section header.
func (t *table) section(raw []byte) (s elf.Section64) {
	if t.class == elf.ELFCLASS32 {
		var short elf.Section32
		_, _ = binary.Decode(raw, t.order, &short) // raw has its size
		return elf.Section64{Name: short.Name, Flags: uint64(short.Flags), Off: uint64(short.Off), Size: uint64(short.Size), Link: short.Link}
	}
	_, _ = binary.Decode(raw, t.order, &s)
	return s
}
