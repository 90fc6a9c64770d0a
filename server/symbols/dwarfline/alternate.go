package dwarfline

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
)

// Link names the alternate file that dwz has moved common entries to.
type Link struct {
	Name    string // a path, which counts from the folder of the file itself
	BuildID []byte // of the alternate file
}

// AlternateLink returns a file's link to its alternate file: the section
// .gnu_debugaltlink has the name and the build ID; .debug_sup has a version, a flag
// (0 in files that refer to another), the name, and the length of the ID (DWARF 5,
// section 7.3.6).
func AlternateLink(f *elf.File) (Link, bool) {
	if name, id, ok := bytes.Cut(linkData(f, ".gnu_debugaltlink"), []byte{0}); ok && len(name) > 0 {
		return Link{string(name), id}, true
	}
	return supLink(linkData(f, ".debug_sup"), f.ByteOrder)
}

// supLink returns the link that .debug_sup has.
func supLink(data []byte, order binary.ByteOrder) (Link, bool) {
	if len(data) < 4 || order.Uint16(data) != 5 || data[2] != 0 {
		return Link{}, false
	}
	name, id, ok := bytes.Cut(data[3:], []byte{0})
	if !ok || len(name) == 0 || len(id) == 0 || id[0] >= 0x80 || int(id[0]) > len(id)-1 {
		return Link{}, false
	}
	return Link{string(name), id[1:][:id[0]]}, true
}

// linkData returns the contents of a section with a link, nil if there is none.
func linkData(f *elf.File, name string) []byte {
	const most = 64 << 10 // bytes
	s := f.Section(name)
	if s == nil || s.Size > most || s.Type == elf.SHT_NOBITS {
		return nil
	}
	data, err := s.Data()
	if err != nil {
		return nil
	}
	return data
}
