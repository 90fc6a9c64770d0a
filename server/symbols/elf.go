package symbols

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"sort"

	"github.com/clewdbg/clew/server/symbols/gotab"
	"github.com/clewdbg/clew/unwind"
)

// elfFile is a file in ELF.
type elfFile struct {
	*elf.File
	place place     // no path for what is in memory
	debug *elf.File // the separate debug file, nil if there is none
	moved uint64    // added by the loader to addresses in it; 0 for files

	debugPlace place // of the separate debug file
}

// Base implements [object].
func (f *elfFile) Base() uint64 { return 0 }

// EntryPoint implements [object].
func (f *elfFile) EntryPoint() uint64 { return f.Entry }

// Arch implements [object].
func (f *elfFile) Arch() unwind.Arch {
	switch m := f.File.Machine; {
	case m == elf.EM_X86_64 && f.Class == elf.ELFCLASS64:
		return unwind.AMD64
	case m == elf.EM_AARCH64:
		return unwind.ARM64
	case m == elf.EM_386:
		return unwind.I386
	case m == elf.EM_ARM:
		return unwind.ARM
	case m == elf.EM_S390 && f.Class == elf.ELFCLASS64:
		return unwind.S390X
	}
	return unwind.ArchUnknown
}

// Machine implements [object].
func (f *elfFile) Machine() string { return f.File.Machine.String() }

// Order implements [object].
func (f *elfFile) Order() binary.ByteOrder { return f.ByteOrder }

// Relocatable implements [object].
func (f *elfFile) Relocatable() bool { return f.Type == elf.ET_REL }

// Executable implements [object]. The part of a segment beyond the file's end is no
// code: a damaged header may claim any amount of it.
func (f *elfFile) Executable() []unwind.Range {
	var out []unwind.Range
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD || p.Flags&elf.PF_X == 0 {
			continue
		}
		if n := inFile(p); p.Vaddr+n > p.Vaddr {
			out = append(out, unwind.Range{Start: p.Vaddr, End: p.Vaddr + n})
		}
	}
	return out
}

// inFile is how many bytes of a segment the file has.
func inFile(p *elf.Prog) uint64 {
	size := int(min(p.Filesz, p.Memsz, math.MaxInt))
	return uint64(sort.Search(size, func(i int) bool {
		_, err := p.ReadAt(make([]byte, 1), int64(i))
		return err != nil
	}))
}

// CodeRanges implements [object].
func (f *elfFile) CodeRanges() []unwind.Range {
	var out []unwind.Range
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 && s.Type != elf.SHT_NOBITS && s.Addr+s.Size > s.Addr {
			out = append(out, unwind.Range{Start: s.Addr, End: s.Addr + s.Size})
		}
	}
	if len(out) == 0 {
		return f.Executable()
	}
	return out
}

// Code implements [object].
func (f *elfFile) Code(vaddr uint64, n int) []byte {
	return readSegment(f.File, elf.PF_X, vaddr, uint64(max(n, 0)))
}

// readSegment reads from a loaded segment that has the flags: as much of n bytes as there
// is in the file.
func readSegment(f *elf.File, flags elf.ProgFlag, vaddr, n uint64) []byte {
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD || p.Flags&flags != flags || vaddr < p.Vaddr || vaddr-p.Vaddr >= p.Filesz {
			continue
		}
		buf := make([]byte, min(n, p.Filesz-(vaddr-p.Vaddr)))
		got, err := p.ReadAt(buf, int64(vaddr-p.Vaddr))
		if err != nil && !errors.Is(err, io.EOF) {
			return nil
		}
		return buf[:got]
	}
	return nil
}

func (f *elfFile) readGoTable() *gotab.Table { return readGoTable(f) }

func (f *elfFile) readFunctions() functions {
	more := f.debug
	if more == nil {
		more = f.readMini()
	}
	return readFunctions(f.File, more, f.moved, f.boundLabels)
}

func (f *elfFile) fullSymbols() bool {
	for _, ef := range []*elf.File{f.File, f.debug} {
		if ef == nil {
			continue
		}
		if s := ef.SectionByType(elf.SHT_SYMTAB); s != nil && s.Type == elf.SHT_SYMTAB {
			return true
		}
	}
	return false
}
