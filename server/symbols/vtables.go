package symbols

import (
	"cmp"
	"debug/elf"
	"slices"
	"strings"

	"github.com/clewdbg/clew/internal/elffile"
)

// vtable is a table of a class's virtual functions.
type vtable struct {
	start, size uint64
	name        string
}

// maxVTables bounds those of one file.
const maxVTables = 1 << 18

// VTable returns the name, as the linker has it, of the table of virtual functions that an address lies in. Only ELF is looked into.
func (f *File) VTable(vaddr uint64) (name string, ok bool) {
	f.vtablesOnce.Do(func() {
		if ef, isELF := f.object.(*elfFile); isELF {
			f.vtables = readVTables(ef.File, ef.debug)
		}
	})
	at, _ := slices.BinarySearchFunc(f.vtables, vaddr, func(t vtable, vaddr uint64) int { return cmp.Compare(t.start, vaddr+1) })
	if at == 0 || vaddr-f.vtables[at-1].start >= f.vtables[at-1].size {
		return "", false
	}
	return f.vtables[at-1].name, true
}

func readVTables(files ...*elf.File) (out []vtable) {
	for _, f := range files {
		for _, kind := range []elf.SectionType{elf.SHT_DYNSYM, elf.SHT_SYMTAB} {
			if f == nil {
				continue
			}
			for _, s := range elffile.Symbols(f, kind) {
				if elf.ST_TYPE(s.Info) == elf.STT_OBJECT && s.Section != elf.SHN_UNDEF && strings.HasPrefix(s.Name, "_ZTV") && len(out) < maxVTables {
					out = append(out, vtable{s.Value, s.Size, strings.Clone(s.Name)})
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b vtable) int { return cmp.Compare(a.start, b.start) })
	return out
}
