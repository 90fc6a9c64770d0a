package sframetest

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"

	"github.com/clewdbg/clew/sframe"
	"github.com/clewdbg/clew/unwind"
)

// The marks of SFrame in an ELF file, besides its section's name.
const (
	segmentType = elf.ProgType(0x6474_e554) // PT_GNU_SFRAME
	sectionType = elf.SectionType(0x6fff_fff4)
)

// ErrRelocatable is an object file: its functions' addresses are unknown before
// it is linked.
var ErrRelocatable = errors.New("an object file's .sframe has no addresses yet: they are relocations")

// ErrNone: the file has no SFrame section.
var ErrNone = errors.New("no .sframe section and no PT_GNU_SFRAME segment")

// maxSection bounds the bytes that are read of a file.
const maxSection = 1 << 30

// Open reads the tables of an ELF file as it would be loaded with a bias:
// those of the section that is called .sframe or has its type, or, where the
// section headers are gone, of the segment PT_GNU_SFRAME.
func Open(f *elf.File, bias uint64) (*sframe.Table, error) {
	if f.Type == elf.ET_REL {
		return nil, ErrRelocatable
	}
	opts := sframe.Options{Arch: archOf(f)}
	if opts.Arch == unwind.ArchUnknown {
		return nil, fmt.Errorf("SFrame has no tables for %v", f.Machine)
	}
	var code []unwind.Range
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			code = append(code, unwind.Range{Start: p.Vaddr + bias, End: p.Vaddr + p.Memsz + bias})
		}
	}
	opts.Code = unwind.NewRangeSet(code...)
	section, err := find(f, bias)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{sframe.SectionPLTGot, sframe.SectionPLT, sframe.SectionPLTSec} {
		if plt := f.Section(name); plt != nil && plt.Size <= maxSection {
			if data, err := plt.Data(); err == nil {
				opts.AddPLT(sframe.Section{Name: plt.Name, Addr: plt.Addr + bias, Data: data})
			}
		}
	}
	return sframe.New(section, opts), nil
}

// archOf returns the architecture of a file that can have SFrame.
func archOf(f *elf.File) unwind.Arch {
	switch f.Machine {
	case elf.EM_X86_64:
		return unwind.AMD64
	case elf.EM_AARCH64:
		return unwind.ARM64
	case elf.EM_S390:
		return unwind.S390X
	}
	return unwind.ArchUnknown
}

// find returns the section, or the segment that replaces it.
func find(f *elf.File, bias uint64) (sframe.Section, error) {
	for _, s := range f.Sections {
		if s.Name != sframe.SectionName && s.Type != sectionType || s.Type == elf.SHT_NOBITS {
			continue
		}
		if s.Size > maxSection {
			return sframe.Section{}, fmt.Errorf("%s has %d bytes", s.Name, s.Size)
		}
		data, err := s.Data()
		if err != nil {
			return sframe.Section{}, fmt.Errorf("%s: %w", s.Name, err)
		}
		return sframe.Section{Name: s.Name, Addr: s.Addr + bias, Data: data}, nil
	}
	for _, p := range f.Progs {
		if p.Type != segmentType {
			continue
		}
		if p.Filesz > maxSection {
			return sframe.Section{}, fmt.Errorf("PT_GNU_SFRAME has %d bytes", p.Filesz)
		}
		data, err := io.ReadAll(p.Open())
		if err != nil {
			return sframe.Section{}, fmt.Errorf("PT_GNU_SFRAME: %w", err)
		}
		return sframe.Section{Name: "PT_GNU_SFRAME", Addr: p.Vaddr + bias, Data: data}, nil
	}
	return sframe.Section{}, ErrNone
}
