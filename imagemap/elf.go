package imagemap

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Why a file is not taken for an image.
var (
	// ErrNotELF: the bytes are not those of an ELF file.
	ErrNotELF = errors.New("not an ELF file")
	// ErrELF: the bytes are those of an ELF file, but a damaged one.
	ErrELF = errors.New("damaged ELF file")
)

// Limits of the kernel and the dynamic loader; beyond them a file cannot be loaded.
const (
	maxProgramHeaders = 1 << 16 // bytes of program headers, as in Linux's fs/binfmt_elf.c
	maxNotes          = 1 << 16 // bytes of one segment of notes
)

// headers are the program headers of an ELF file, or the load commands of
// a Mach-O image in the same terms.
type headers struct {
	class   elf.Class
	machine elf.Machine
	loads   []elf.ProgHeader // the PT_LOAD ones
	buildID []byte
	machO   bool
	base    uint64 // Mach-O: the virtual address of its header
	// notesErr is why the build ID cannot be known. The rest is still right.
	notesErr error
}

// ReadBuildID reads the GNU build ID of an ELF file: the NT_GNU_BUILD_ID note of
// its PT_NOTE segments, or right behind one of them, where Go's linker leaves it.
// It is nil when the file has none. Go's own build ID is not one: it is text of
// another form, and other tools do not know it.
//
// Fails with an error that wraps [ErrNotELF], [ErrELF] or the reader's.
func ReadBuildID(r io.ReaderAt) ([]byte, error) {
	image, err := readELF(r)
	if err != nil {
		return nil, err
	}
	return image.buildID, image.notesErr
}

// readELF reads the headers by file offset. It works on a file as well as on
// memory in the form of mappedFile, which need not hold the section headers.
func readELF(r io.ReaderAt) (*headers, error) {
	class, order, err := readIdent(r)
	if err != nil {
		return nil, err
	}
	image := &headers{class: class}
	var offset uint64
	var count, size int
	switch image.class {
	case elf.ELFCLASS32:
		h, err := readStruct[elf.Header32](r, order)
		if err != nil {
			return nil, err
		}
		image.machine = elf.Machine(h.Machine)
		offset, count, size = uint64(h.Phoff), int(h.Phnum), int(h.Phentsize)
	case elf.ELFCLASS64:
		h, err := readStruct[elf.Header64](r, order)
		if err != nil {
			return nil, err
		}
		image.machine = elf.Machine(h.Machine)
		offset, count, size = h.Phoff, int(h.Phnum), int(h.Phentsize)
	default:
		return nil, fmt.Errorf("%w: class %d", ErrELF, image.class)
	}
	headers, err := programHeaders(r, order, image.class, offset, count, size)
	if err != nil {
		return nil, err
	}
	var notes []elf.ProgHeader
	for _, p := range headers {
		switch p.Type {
		case elf.PT_LOAD:
			image.loads = append(image.loads, p)
		case elf.PT_NOTE:
			notes = append(notes, p)
		}
	}
	image.buildID, image.notesErr = findBuildID(r, order, notes, image.loads)
	return image, nil
}

// findBuildID reads the build ID of the first segment of notes that has one.
// A file with a damaged segment may have another that is whole.
func findBuildID(r io.ReaderAt, order binary.ByteOrder, notes, loads []elf.ProgHeader) (id []byte, damage error) {
	for _, p := range notes {
		content, err := readNotes(r, p)
		if err != nil {
			damage = err
			continue
		}
		if id := buildID(content, order, p.Align); id != nil {
			return id, damage
		}
	}
	for _, p := range notes {
		if id := buildIDBehind(r, order, p, loads); id != nil {
			return id, damage
		}
	}
	return nil, damage
}

// buildIDBehind reads a build ID that stands right behind a segment of notes. Go's
// own linker (cmd/link, since Go 1.24) writes the section .note.gnu.build-id
// behind .note.go.buildid, and has PT_NOTE cover the latter alone. Section headers
// would tell, but a process's memory and a stripped file have none.
func buildIDBehind(r io.ReaderAt, order binary.ByteOrder, p elf.ProgHeader, loads []elf.ProgHeader) []byte {
	end := p.Off + p.Filesz
	for _, l := range loads {
		if end < p.Off || l.Off+l.Filesz < l.Off || end < l.Off || end >= l.Off+l.Filesz {
			continue
		}
		n := min(l.Off+l.Filesz-end, noteHeader+uint64(len(gnuName))+MaxBuildID)
		if content, err := readAt(r, end, int(n), "note"); err == nil && len(content) >= noteHeader &&
			order.Uint32(content) == uint32(len(gnuName)) && order.Uint32(content[8:]) == ntGNUBuildID {
			return buildID(content, order, 4)
		}
	}
	return nil
}

// readIdent reads the first bytes of a file, which say how to read the rest.
func readIdent(r io.ReaderAt) (elf.Class, binary.ByteOrder, error) {
	var ident [elf.EI_NIDENT]byte
	if n, err := r.ReadAt(ident[:], 0); n < len(ident) {
		if errors.Is(err, io.EOF) {
			err = ErrNotELF
		}
		return 0, nil, err
	}
	if string(ident[:4]) != elf.ELFMAG {
		return 0, nil, ErrNotELF
	}
	class := elf.Class(ident[elf.EI_CLASS])
	switch elf.Data(ident[elf.EI_DATA]) {
	case elf.ELFDATA2LSB:
		return class, binary.LittleEndian, nil
	case elf.ELFDATA2MSB:
		return class, binary.BigEndian, nil
	}
	return 0, nil, fmt.Errorf("%w: byte order %d", ErrELF, ident[elf.EI_DATA])
}

// readStruct reads a structure of fixed size at the start of r.
func readStruct[T any](r io.ReaderAt, order binary.ByteOrder) (*T, error) {
	var v T
	b, err := readAt(r, 0, binary.Size(v), "header")
	if err != nil {
		return nil, err
	}
	if _, err := binary.Decode(b, order, &v); err != nil {
		return nil, err
	}
	return &v, nil
}

func programHeaders(r io.ReaderAt, order binary.ByteOrder, class elf.Class, offset uint64, count, size int) ([]elf.ProgHeader, error) {
	want := binary.Size(elf.Prog64{})
	if class == elf.ELFCLASS32 {
		want = binary.Size(elf.Prog32{})
	}
	if count == 0 {
		return nil, nil
	}
	if size != want || count*size > maxProgramHeaders {
		return nil, fmt.Errorf("%w: %d program headers of %d bytes", ErrELF, count, size)
	}
	b, err := readAt(r, offset, count*size, "program headers")
	if err != nil {
		return nil, err
	}
	headers := make([]elf.ProgHeader, count)
	for i := range headers {
		raw := b[i*size : (i+1)*size]
		if class == elf.ELFCLASS32 {
			var p elf.Prog32
			_, err = binary.Decode(raw, order, &p)
			headers[i] = elf.ProgHeader{Type: elf.ProgType(p.Type), Flags: elf.ProgFlag(p.Flags), Off: uint64(p.Off),
				Vaddr: uint64(p.Vaddr), Filesz: uint64(p.Filesz), Memsz: uint64(p.Memsz), Align: uint64(p.Align)}
		} else {
			var p elf.Prog64
			_, err = binary.Decode(raw, order, &p)
			headers[i] = elf.ProgHeader{Type: elf.ProgType(p.Type), Flags: elf.ProgFlag(p.Flags), Off: p.Off,
				Vaddr: p.Vaddr, Filesz: p.Filesz, Memsz: p.Memsz, Align: p.Align}
		}
		if err != nil {
			return nil, err
		}
	}
	return headers, nil
}

func readNotes(r io.ReaderAt, p elf.ProgHeader) ([]byte, error) {
	if p.Filesz > maxNotes {
		return nil, fmt.Errorf("%w: %d bytes of notes", ErrELF, p.Filesz)
	}
	return readAt(r, p.Off, int(p.Filesz), "notes")
}

// readAt reads n bytes, all or an error.
func readAt(r io.ReaderAt, offset uint64, n int, what string) ([]byte, error) {
	b := make([]byte, n)
	if offset > 1<<62 {
		return nil, fmt.Errorf("%w: %s at offset %#x", ErrELF, what, offset)
	}
	got, err := r.ReadAt(b, int64(offset))
	switch {
	case got == n:
		return b, nil
	case errors.Is(err, io.EOF) || err == nil:
		return nil, fmt.Errorf("%w: %s at offset %#x: the file ends there", ErrELF, what, offset)
	}
	return nil, fmt.Errorf("%s at offset %#x: %w", what, offset, err)
}

const (
	noteHeader   = 12 // three words
	gnuName      = "GNU\x00"
	ntGNUBuildID = 3 // ELF gABI supplement, "Note Section"
)

// buildID finds the GNU build ID among notes. Each is three words (length of the
// name, length of the content, type), then name and content, each padded to the
// segment's alignment of 4 or 8. Damaged notes have no build ID.
func buildID(notes []byte, order binary.ByteOrder, align uint64) []byte {
	if align != 8 {
		align = 4 // also where 0 and 1 say so
	}
	padded := func(n uint32) uint64 { return (uint64(n) + align - 1) &^ (align - 1) }
	for len(notes) >= noteHeader {
		nameLen, descLen, typ := order.Uint32(notes), order.Uint32(notes[4:]), order.Uint32(notes[8:])
		// The header's bytes count for the alignment of the data behind it.
		nameEnd := noteHeader + uint64(nameLen)
		descStart := (nameEnd + align - 1) &^ (align - 1)
		descEnd := descStart + uint64(descLen)
		if descEnd > uint64(len(notes)) {
			return nil
		}
		if typ == ntGNUBuildID && string(notes[noteHeader:nameEnd]) == gnuName && descLen > 0 && descLen <= MaxBuildID {
			return bytes.Clone(notes[descStart:descEnd])
		}
		notes = notes[min(descStart+padded(descLen), uint64(len(notes))):]
	}
	return nil
}

// mappedFile reads a file by its offsets from the memory it is mapped to. Pages
// that the process may have written to are used only where no other has the
// bytes.
type mappedFile struct {
	memory io.ReaderAt
	maps   []Mapping // of this one file
}

func (f mappedFile) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	for n < len(p) {
		m := f.at(uint64(off) + uint64(n))
		if m == nil {
			return n, io.EOF
		}
		at := uint64(off) + uint64(n) - m.Offset
		part := p[n:min(uint64(len(p)), uint64(n)+m.End-m.Start-at)]
		if m.Start+at > 1<<63-1 {
			return n, fmt.Errorf("address %#x is out of reach", m.Start+at)
		}
		got, err := f.memory.ReadAt(part, int64(m.Start+at))
		if n += got; got < len(part) {
			if err == nil {
				err = io.ErrUnexpectedEOF
			}
			return n, fmt.Errorf("memory at %#x: %w", m.Start+at+uint64(got), err)
		}
	}
	return n, nil
}

// at finds the mapping that has the file's byte at offset.
func (f mappedFile) at(offset uint64) *Mapping {
	var found *Mapping
	for i := range f.maps {
		m := &f.maps[i]
		if offset < m.Offset || offset-m.Offset >= m.End-m.Start || m.Perm[0] != 'r' {
			continue
		}
		if m.Perm[1] != 'w' {
			return m
		}
		found = cmp.Or(found, m)
	}
	return found
}
