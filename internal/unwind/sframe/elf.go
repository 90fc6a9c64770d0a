package sframe

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"

	"github.com/clewdbg/clew/unwind"
)

// What marks SFrame in an ELF file.
const (
	SectionName   = ".sframe"
	SectionPLTGot = ".plt.got"
	SectionPLT    = ".plt"
	SectionPLTSec = ".plt.sec"
	SegmentType   = elf.ProgType(0x6474_e554) // PT_GNU_SFRAME
	sectionType   = elf.SectionType(0x6fff_fff4)
)

// ErrRelocatable says that a file is an object file: where its functions start
// is not known before it is linked.
var ErrRelocatable = errors.New("an object file's .sframe has no addresses yet: they are relocations")

// ErrNone says that a file has no SFrame section.
var ErrNone = errors.New("no .sframe section and no PT_GNU_SFRAME segment")

// maxSection bounds what is read of a file, in bytes.
const maxSection = 1 << 30

// Open reads the tables of an ELF file as it would be loaded with a bias:
// those of the section that is called .sframe or has its type, or, where the
// section headers are gone, of the segment PT_GNU_SFRAME.
func Open(f *elf.File, bias uint64) (*Table, error) {
	if f.Type == elf.ET_REL {
		return nil, ErrRelocatable
	}
	opts := Options{Arch: ArchOf(f)}
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
	for _, name := range []string{SectionPLTGot, SectionPLT, SectionPLTSec} {
		if plt := f.Section(name); plt != nil && plt.Size <= maxSection {
			if data, err := plt.Data(); err == nil {
				opts.AddPLT(Section{Name: plt.Name, Addr: plt.Addr + bias, Data: data})
			}
		}
	}
	return New(section, opts), nil
}

// AddPLT notes a section of the linkage table, by its name.
func (o *Options) AddPLT(s Section) {
	switch s.Name {
	case SectionPLTGot:
		o.PLTGot = s
	case SectionPLT, SectionPLTSec:
		o.PLT = append(o.PLT, s)
	}
}

// ArchOf returns the architecture of a file that can have SFrame.
func ArchOf(f *elf.File) unwind.Arch {
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

// find returns the section or what stands for it.
func find(f *elf.File, bias uint64) (Section, error) {
	for _, s := range f.Sections {
		if s.Name != SectionName && s.Type != sectionType || s.Type == elf.SHT_NOBITS {
			continue
		}
		if s.Size > maxSection {
			return Section{}, fmt.Errorf("%s has %d bytes", s.Name, s.Size)
		}
		data, err := s.Data()
		if err != nil {
			return Section{}, fmt.Errorf("%s: %w", s.Name, err)
		}
		return Section{Name: s.Name, Addr: s.Addr + bias, Data: data}, nil
	}
	for _, p := range f.Progs {
		if p.Type != SegmentType {
			continue
		}
		if p.Filesz > maxSection {
			return Section{}, fmt.Errorf("PT_GNU_SFRAME has %d bytes", p.Filesz)
		}
		data, err := io.ReadAll(p.Open())
		if err != nil {
			return Section{}, fmt.Errorf("PT_GNU_SFRAME: %w", err)
		}
		return Section{Name: "PT_GNU_SFRAME", Addr: p.Vaddr + bias, Data: data}, nil
	}
	return Section{}, ErrNone
}
