package symbols

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"sort"
	"sync"

	"github.com/clewdbg/clew/server/internal/blocks"
	"github.com/clewdbg/clew/server/symbols/gotab"
	"github.com/clewdbg/clew/unwind"
)

// elfFile is a file in ELF.
type elfFile struct {
	*elf.File
	place place     // without path and info for what is in memory
	debug *elf.File // the separate debug file, nil if there is none
	code  sync.Map  // of executable segments: *elf.Prog to *blocks.Blocks
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

// Code implements [object]. Code is read a page at a time: the same calls are looked at for one stack after another.
func (f *elfFile) Code(vaddr uint64, n int) []byte {
	p, left := segmentAt(f.File, elf.PF_X, vaddr)
	if p == nil {
		return nil
	}
	pages, ok := f.code.Load(p)
	if !ok {
		pages, _ = f.code.LoadOrStore(p, blocks.Over(segment{p}))
	}
	buf := make([]byte, min(uint64(max(n, 0)), left))
	if pages.(*blocks.Blocks).ReadMemory(vaddr, buf) != nil {
		return readSegment(f.File, elf.PF_X, vaddr, uint64(len(buf)))
	}
	return buf
}

// segment is what a file has of a loaded segment.
type segment struct{ *elf.Prog }

// ReadMemory implements [unwind.Memory].
func (s segment) ReadMemory(vaddr uint64, p []byte) error {
	if vaddr < s.Vaddr {
		return &unwind.MemoryError{Addr: vaddr, Size: len(p), Err: io.ErrUnexpectedEOF}
	}
	_, err := s.ReadAt(p, int64(vaddr-s.Vaddr))
	return err
}

// segmentAt returns the loaded segment with the flags that an address lies in, and how much the file has from there on.
func segmentAt(f *elf.File, flags elf.ProgFlag, vaddr uint64) (p *elf.Prog, left uint64) {
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&flags == flags && vaddr >= p.Vaddr && vaddr-p.Vaddr < p.Filesz {
			return p, p.Filesz - (vaddr - p.Vaddr)
		}
	}
	return nil, 0
}

// readSegment reads from a loaded segment that has the flags: as much of n bytes as there
// is in the file.
func readSegment(f *elf.File, flags elf.ProgFlag, vaddr, n uint64) []byte {
	p, left := segmentAt(f, flags, vaddr)
	if p == nil {
		return nil
	}
	buf := make([]byte, min(n, left))
	got, err := p.ReadAt(buf, int64(vaddr-p.Vaddr))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	return buf[:got]
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
