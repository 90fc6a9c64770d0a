package delve

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
)

// checkSizes looks for sizes that Delve allocates as they are written: of .dynamic (pkg/proc/linutil,
// dynamicSearchDebug), in the note with the build ID (pkg/proc/bininfo.go, loadBuildID), and of symbols' names, each
// of which it copies.
func checkSizes(f *elf.File) error {
	if s := f.Section(".dynamic"); s != nil && s.Size > maxDynamic {
		return fmt.Errorf(".dynamic claims %d KiB", s.Size>>10)
	}
	if s := f.Section(".note.gnu.build-id"); s != nil {
		var sizes [8]byte // of the name and of the build ID
		if n, _ := s.Open().Read(sizes[:]); n == len(sizes) && max(f.ByteOrder.Uint32(sizes[:]), f.ByteOrder.Uint32(sizes[4:])) > maxDynamic {
			return errors.New(".note.gnu.build-id claims too long a build ID")
		}
	}
	for _, s := range f.Sections {
		if s.Type == elf.SHT_SYMTAB && int(s.Link) < len(f.Sections) {
			if err := checkNames(f, s, f.Sections[s.Link]); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkNames looks for symbols whose names overlap: together they may be much longer than what the file has of them.
func checkNames(f *elf.File, symbols, names *elf.Section) error {
	size := 24 // of an Elf64_Sym
	if f.Class == elf.ELFCLASS32 {
		size = 16
	}
	table, err := symbols.Data()
	if err != nil {
		return nil // Delve cannot read it either
	}
	text, err := names.Data()
	if err != nil {
		return nil
	}
	for left := 4*len(text) + 16<<20; len(table) >= size; table = table[size:] {
		if at := f.ByteOrder.Uint32(table); uint64(at) < uint64(len(text)) {
			left -= max(0, bytes.IndexByte(text[at:], 0))
		}
		if left < 0 {
			return fmt.Errorf("the names in %s are too long together", symbols.Name)
		}
	}
	return nil
}
