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

// maxContents bounds one section's contents, in bytes.
const maxContents = 1 << 30

// What introduces a program header's type in a name for [File.Section].
const (
	segmentPrefix = "segment:"
	beforePrefix  = "segment-before:"
)

// typePrefix introduces a section's type in a name for [File.Section].
const typePrefix = "section-type:"

// Section implements [object]. It returns a section by name, decompressed. The name "segment:TYPE", with
// the number of a program header's type, stands for the loadable segment around that
// header's address, from there to its end, and "segment-before:TYPE" that segment
// from its start to there: the way to unwind information when the section headers
// are gone. They are returned only then. "section-type:TYPE" stands for the first loaded
// section of that type, whatever its name is.
func (f *elfFile) Section(name string) (Contents, bool) {
	for _, prefix := range []string{segmentPrefix, beforePrefix} {
		if kind, ok := strings.CutPrefix(name, prefix); ok {
			n, err := strconv.ParseUint(kind, 0, 32)
			if err != nil || len(f.Sections) > 0 {
				return Contents{}, false
			}
			return f.segmentAround(elf.ProgType(n), prefix == beforePrefix)
		}
	}
	if kind, ok := strings.CutPrefix(name, typePrefix); ok {
		return f.contents(loadedOfType(f.File, kind))
	}
	c, ok := f.contents(named(f.File, name))
	if !ok && f.debug != nil && !strings.HasPrefix(name, ".eh_") {
		// Of loaded sections, a debug file has only the headers.
		if c, ok = sectionOf(f.debug, name); ok && c.Loaded {
			return Contents{}, false
		}
	}
	return c, ok
}

// contents returns a section of the image's own file; s may be nil.
func (f *elfFile) contents(s *elf.Section) (Contents, bool) {
	if s != nil {
		if _, wrong := misplaced(f.File, s); wrong != "" {
			return Contents{}, false
		}
	}
	return contentsOf(s)
}

// loadedOfType returns the first loaded section of a type, which is written as a
// number, or nil.
func loadedOfType(file *elf.File, kind string) *elf.Section {
	n, err := strconv.ParseUint(kind, 0, 32)
	for _, s := range file.Sections {
		if err == nil && s.Type == elf.SectionType(n) && s.Flags&elf.SHF_ALLOC != 0 {
			return s
		}
	}
	return nil
}

// named returns a section by its name, or nil. A section .zdebug_NAME, which older
// tools write, stands for .debug_NAME.
func named(file *elf.File, name string) *elf.Section {
	s := file.Section(name)
	if rest, ok := strings.CutPrefix(name, ".debug_"); ok && s == nil {
		s = file.Section(".zdebug_" + rest)
	}
	return s
}

// sectionOf returns a section of one file, decompressed.
func sectionOf(file *elf.File, name string) (Contents, bool) { return contentsOf(named(file, name)) }

// contentsOf returns a section's contents, decompressed; s may be nil.
func contentsOf(s *elf.Section) (Contents, bool) {
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

// segmentAround returns the loadable segment around a program header's address, from
// there on or up to there.
func (f *elfFile) segmentAround(kind elf.ProgType, before bool) (Contents, bool) {
	for _, p := range f.Progs {
		if p.Type != kind {
			continue
		}
		for _, load := range f.Progs {
			at := p.Vaddr - load.Vaddr
			if load.Type != elf.PT_LOAD || p.Vaddr < load.Vaddr || at >= load.Filesz {
				continue
			}
			from, to := at, load.Filesz
			if before {
				from, to = 0, at
			}
			if to-from > maxContents {
				continue
			}
			data := make([]byte, to-from)
			n, err := load.ReadAt(data, int64(from))
			if err != nil && !errors.Is(err, io.EOF) {
				return Contents{}, false
			}
			return Contents{Vaddr: load.Vaddr + from, Loaded: true, Data: data[:n]}, true
		}
	}
	return Contents{}, false
}
