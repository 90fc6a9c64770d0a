package dwarfline

import (
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"strings"
)

// maxRatio is how much longer data can become by decompression: a block of zstd has
// up to 128 KiB, and takes 4 bytes at least. zlib is below.
const maxRatio = 32 << 10

var errNotZlib = errors.New("it does not begin as a compressed section does")

// FromELF returns the DWARF in an ELF file.
func FromELF(f *elf.File) *Source {
	return &Source{Order: f.ByteOrder, Unlinked: f.Type == elf.ET_REL, Section: func(name string) (Section, bool) {
		s, ok := elfSection(f, name)
		if ok && f.Type == elf.ET_REL && f.Section(name) != nil {
			s = relocated(f, f.Section(name), s)
		}
		return s, ok
	}}
}

// elfSection opens a section. What older tools compress is in .zdebug_NAME instead of
// .debug_NAME.
func elfSection(f *elf.File, name string) (Section, bool) {
	s := f.Section(name)
	if s == nil {
		rest, _ := strings.CutPrefix(name, ".debug_")
		if s = f.Section(".zdebug_" + rest); s == nil || s.Type == elf.SHT_NOBITS {
			return Section{}, false
		}
		return gnuCompressed(s)
	}
	if s.Type == elf.SHT_NOBITS || s.Size == 0 || s.FileSize == 0 {
		return Section{}, false
	}
	if s.Flags&elf.SHF_COMPRESSED == 0 {
		var last [1]byte
		if n, _ := s.ReadAt(last[:], int64(s.Size-1)); n != 1 || int64(s.Size) < 0 { // beyond the file's end
			return Section{}, false
		}
		return Section{Size: s.Size, At: s}, true
	}
	return Section{Size: s.Size, Open: func() (io.Reader, error) { return s.Open(), nil }}, s.Size/maxRatio <= s.FileSize
}

// gnuCompressed opens a section that begins with "ZLIB" and its decompressed size,
// big-endian.
func gnuCompressed(s *elf.Section) (Section, bool) {
	var head [12]byte
	if _, err := s.ReadAt(head[:], 0); err != nil || string(head[:4]) != "ZLIB" {
		return Section{}, false
	}
	size := binary.BigEndian.Uint64(head[4:])
	return Section{Size: size, Open: func() (io.Reader, error) {
		r, err := zlib.NewReader(io.NewSectionReader(s, 12, int64(s.FileSize)))
		if err != nil {
			return nil, errNotZlib
		}
		return r, nil
	}}, size/maxRatio <= s.FileSize
}
