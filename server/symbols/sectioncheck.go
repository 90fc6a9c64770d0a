package symbols

import (
	"debug/elf"
	"fmt"
)

// SectionError says that a section's header cannot be right, so that the section
// is not used.
type SectionError struct {
	Path    string // of the file
	Section string
	Index   int    // of its header
	Field   string // of the header: "sh_offset"
	Reason  string
}

// Error returns the file, the section, the field and the reason.
func (e *SectionError) Error() string { return e.Path + ": " + e.Detail() }

// Detail is the error without the file.
func (e *SectionError) Detail() string {
	return fmt.Sprintf("%s (section header %d): %s: %s", e.Section, e.Index, e.Field, e.Reason)
}

// checkSections reports the loaded sections whose headers cannot be right.
func (f *File) checkSections(file *elf.File, path string) {
	if file.Type == elf.ET_REL {
		return
	}
	for i, s := range file.Sections {
		if field, reason := misplaced(file, s); reason != "" {
			f.problems = append(f.problems, &SectionError{Path: path, Section: s.Name, Index: i, Field: field, Reason: reason})
		}
	}
}

// misplaced says why a loaded section's header cannot be right: its contents are
// not in the file, or program headers, which the loader goes by, have them at
// another address. The reason is empty where nothing is wrong.
func misplaced(file *elf.File, s *elf.Section) (field, reason string) {
	if s.Flags&elf.SHF_ALLOC != 0 && s.Flags&elf.SHF_COMPRESSED != 0 {
		return "sh_flags", "a loaded section cannot be compressed"
	}
	if s.Flags&elf.SHF_ALLOC == 0 || s.Type == elf.SHT_NOBITS || s.Type == elf.SHT_NULL || s.FileSize == 0 {
		return "", ""
	}
	if s.Offset+s.FileSize < s.Offset || s.ReaderAt == nil {
		return "sh_size", fmt.Sprintf("%#x bytes at %#x are no part of a file", s.FileSize, s.Offset)
	}
	if _, err := s.ReadAt(make([]byte, 1), int64(s.FileSize-1)); err != nil {
		return "sh_size", fmt.Sprintf("%#x bytes at %#x run past the file's end", s.FileSize, s.Offset)
	}
	if reason = elsewhere(file, s); reason != "" {
		return "sh_addr", reason
	}
	return "", ""
}

// elsewhere says where the program headers have a section, if not at its address; ""
// where they agree or do not load it.
func elsewhere(file *elf.File, s *elf.Section) (reason string) {
	for _, p := range file.Progs {
		at := s.Offset - p.Off
		if p.Type != elf.PT_LOAD || s.Offset < p.Off || at >= p.Filesz {
			continue
		}
		if s.Addr == p.Vaddr+at {
			return ""
		}
		reason = fmt.Sprintf("%#x is not where the program headers have it, %#x", s.Addr, p.Vaddr+at)
	}
	return reason
}
