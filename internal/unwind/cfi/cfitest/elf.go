package cfitest

import (
	"debug/elf"
	"fmt"

	"github.com/clewdbg/clew/internal/unwind/cfi"
	"github.com/clewdbg/clew/unwind"
)

// File is what tests need of an ELF file.
type File struct {
	Arch     unwind.Arch
	Sections []unwind.Section // .eh_frame, .eh_frame_hdr, .debug_frame; addresses plus the bias
	Code     []unwind.Range   // executable segments, plus the bias
	Funcs    []Func           // by symbols
	Bias     uint64
}

// Func is a function by its symbol.
type Func struct {
	Name       string
	Start, End uint64
}

// Load reads an ELF file as it would be loaded with a bias.
func Load(path string, bias uint64) (*File, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := &File{Bias: bias}
	switch f.Machine {
	case elf.EM_X86_64:
		out.Arch = unwind.AMD64
	case elf.EM_AARCH64:
		out.Arch = unwind.ARM64
	default:
		return nil, fmt.Errorf("%s: machine %v", path, f.Machine)
	}
	for _, s := range f.Sections {
		switch s.Name {
		case ".eh_frame", ".eh_frame_hdr", ".debug_frame":
			data, err := s.Data()
			if err != nil {
				return nil, err
			}
			sec := unwind.Section{Name: s.Name, Data: data}
			if s.Addr != 0 {
				sec.Addr = s.Addr + bias
			}
			out.Sections = append(out.Sections, sec)
		}
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			out.Code = append(out.Code, unwind.Range{Start: p.Vaddr + bias, End: p.Vaddr + p.Memsz + bias})
		}
	}
	syms, _ := f.Symbols() // a stripped file has none
	for _, s := range syms {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Size > 0 && s.Section != elf.SHN_UNDEF {
			out.Funcs = append(out.Funcs, Func{s.Name, s.Value + bias, s.Value + s.Size + bias})
		}
	}
	return out, nil
}

// Image is the file as an image.
func (f *File) Image(id unwind.ImageID) unwind.Image {
	return unwind.Image{ID: id, Base: f.Bias, Sections: f.Sections, Executable: f.Code}
}

// Section returns a section, without data if there is none.
func (f *File) Section(name string) cfi.Section {
	for _, s := range f.Sections {
		if s.Name == name {
			kind := cfi.EHFrame
			if name == ".debug_frame" {
				kind = cfi.DebugFrame
			}
			return cfi.Section{Name: name, Kind: kind, Addr: s.Addr, Data: s.Data}
		}
	}
	return cfi.Section{Name: name}
}

// Table makes a table of a section, with .eh_frame_hdr where there is one.
func (f *File) Table(name string) *cfi.Table {
	opts := cfi.Options{Arch: f.Arch, Bias: f.Bias, Code: unwind.NewRangeSet(f.Code...)}
	if name == ".eh_frame" {
		opts.Header = f.Section(".eh_frame_hdr")
	}
	return cfi.New(f.Section(name), opts)
}
