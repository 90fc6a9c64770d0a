package corefile

import (
	"bytes"
	"debug/elf"
	"slices"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/elffile"
)

// NameExecutable names the executable's mappings in a core file that names no files, as Delve's dumps do: the entry point
// says where the executable lies. Nothing is named where the mapping does not begin as the file does: it is another one. Other
// images stay without a file.
func (f *File) NameExecutable(path string) {
	if f.entry == 0 || slices.ContainsFunc(f.maps, func(m imagemap.Mapping) bool { return m.Inode != 0 }) {
		return
	}
	e, err := elffile.Open(path)
	if err != nil {
		return // the program's file is opened elsewhere, which says why
	}
	defer e.Close()
	bias := f.entry - e.Entry
	if !f.holds(e.File, path, bias) {
		return
	}
	for i := range f.maps {
		if p := segmentAt(e.File, f.maps[i].Start-bias); p != nil {
			m := &f.maps[i]
			m.Path, m.Inode, m.Offset = path, 1, p.Off&^(pageSize-1)+m.Start-bias-p.Vaddr&^(pageSize-1)
		}
	}
}

// holds reports whether the memory at which a file would lie begins as the file does.
func (f *File) holds(e *elf.File, path string, bias uint64) bool {
	for _, p := range e.Progs {
		if p.Type != elf.PT_LOAD || p.Off != 0 {
			continue
		}
		page := make([]byte, min(p.Filesz, pageSize))
		if f.ReadMemory(p.Vaddr+bias, page) != nil || len(bytes.Trim(page, "\x00")) == 0 {
			return false
		}
		same, err := startsWith(path, page)
		return err == nil && same
	}
	return false
}

// segmentAt is the segment of a file that the page at an address is mapped from, nil for none. Of two that share a page, the
// second is mapped over the first.
func segmentAt(e *elf.File, addr uint64) (last *elf.Prog) {
	for _, p := range e.Progs {
		if p.Type == elf.PT_LOAD && addr >= p.Vaddr&^(pageSize-1) && addr < p.Vaddr+p.Filesz {
			last = p
		}
	}
	return last
}
