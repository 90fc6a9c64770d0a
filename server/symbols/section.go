package symbols

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"strconv"
	"strings"
)

// Contents is a piece of a file's contents.
type Contents struct {
	Vaddr  uint64
	Loaded bool // part of the image in memory: Vaddr counts
	Data   []byte
}

// maxContents bounds what is read of one section, in bytes.
const maxContents = 1 << 30

// segmentPrefix introduces a program header's type in a name for [File.Section].
const segmentPrefix = "segment:"

// Section gives a section by name, decompressed. The name "segment:TYPE", with
// the number of a program header's type, gives the loadable segment around that
// header's address, from there to its end: the way to unwind information when
// the section headers are gone. It is given only then.
func (f *File) Section(name string) (Contents, bool) {
	if kind, ok := strings.CutPrefix(name, segmentPrefix); ok {
		n, err := strconv.ParseUint(kind, 0, 32)
		if err != nil || len(f.elf.Sections) > 0 {
			return Contents{}, false
		}
		return f.segmentAround(elf.ProgType(n))
	}
	c, ok := sectionOf(f.elf, name)
	if !ok && f.debug != nil && !strings.HasPrefix(name, ".eh_") {
		// What is loaded a debug file has only the headers of.
		if c, ok = sectionOf(f.debug, name); ok && c.Loaded {
			return Contents{}, false
		}
	}
	return c, ok
}

// sectionOf gives a section of one file, decompressed. A section .zdebug_NAME,
// which older tools write, stands for .debug_NAME.
func sectionOf(file *elf.File, name string) (Contents, bool) {
	s := file.Section(name)
	if rest, ok := strings.CutPrefix(name, ".debug_"); ok && s == nil {
		s = file.Section(".zdebug_" + rest)
	}
	if s == nil || s.Type == elf.SHT_NOBITS || s.Size == 0 || fullSize(s) > maxContents {
		return Contents{}, false
	}
	data, err := s.Data()
	if err != nil {
		return Contents{}, false
	}
	return Contents{Vaddr: s.Addr, Loaded: s.Flags&elf.SHF_ALLOC != 0, Data: data}, true
}

// fullSize is the size that a section has or claims to have when decompressed, in
// bytes. A compressed .zdebug section begins with "ZLIB" and that size,
// big-endian, which debug/elf takes at its word.
func fullSize(s *elf.Section) uint64 {
	var head [12]byte
	if s.Type == elf.SHT_NOBITS || s.ReaderAt == nil || !strings.HasPrefix(s.Name, ".zdebug") {
		return s.Size
	}
	if _, err := s.ReadAt(head[:], 0); err != nil || string(head[:4]) != "ZLIB" {
		return s.Size
	}
	return binary.BigEndian.Uint64(head[4:])
}

func (f *File) segmentAround(kind elf.ProgType) (Contents, bool) {
	for _, p := range f.elf.Progs {
		if p.Type != kind {
			continue
		}
		for _, load := range f.elf.Progs {
			off := p.Vaddr - load.Vaddr
			if load.Type != elf.PT_LOAD || p.Vaddr < load.Vaddr || off >= load.Filesz || load.Filesz-off > maxContents {
				continue
			}
			data := make([]byte, load.Filesz-off)
			n, err := load.ReadAt(data, int64(off))
			if err != nil && !errors.Is(err, io.EOF) {
				return Contents{}, false
			}
			return Contents{Vaddr: p.Vaddr, Loaded: true, Data: data[:n]}, true
		}
	}
	return Contents{}, false
}
