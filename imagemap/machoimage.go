package imagemap

import (
	"debug/elf"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/clewdbg/clew/imagemap/macho"
)

// readHeaders reads the headers of a file: of an ELF file, or of each image in a
// Mach-O file. There is one at least, or an error.
func readHeaders(r io.ReaderAt) ([]*headers, error) {
	h, err := readELF(r)
	if err == nil {
		return []*headers{h}, nil
	}
	if !errors.Is(err, ErrNotELF) {
		return nil, err
	}
	parts, merr := macho.Slices(r)
	if merr != nil {
		return nil, err
	}
	var out []*headers
	for _, part := range parts {
		f, merr := macho.Read(part.Open(r))
		if merr != nil {
			err = merr // of an architecture that is not supported, or damaged
			continue
		}
		out = append(out, machOHeaders(f, part.Offset))
	}
	if len(out) == 0 {
		return nil, err
	}
	return out, nil
}

// machOHeaders translates the load commands of an image, which lies at an offset in
// its file, into ELF's terms.
func machOHeaders(f *macho.File, offset uint64) *headers {
	h := &headers{class: elf.ELFCLASS32, machO: true, base: f.Base(), buildID: f.UUID}
	switch f.CPU {
	case macho.X86_64:
		h.machine = elf.EM_X86_64
	case macho.ARM64:
		h.machine = elf.EM_AARCH64
	case macho.I386:
		h.machine = elf.EM_386
	}
	if f.CPU.Is64() {
		h.class = elf.ELFCLASS64
	}
	for _, s := range f.Segments {
		if s.Data == 0 || s.Size == 0 {
			continue // __PAGEZERO
		}
		p := elf.ProgHeader{Type: elf.PT_LOAD, Off: offset + s.Offset, Vaddr: s.Addr, Filesz: min(s.Data, s.Size), Memsz: s.Size}
		if s.Executable() {
			p.Flags = elf.PF_X
		}
		h.loads = append(h.loads, p)
	}
	return h
}

// pageSize is the least size of a page: images begin at multiples of it.
const pageSize = 4 << 10

// addAnonymous finds Mach-O images that were read into memory without a file.
//
// Situation: the code's mapping names no file, and no list has the images that a
// loader of the program's own has loaded. Example: a program that reads a dylib into
// memory from an archive. What handles it: executable memory that begins with a header
// whose load commands can be read is an image, and so is what begins right behind
// one; the kernel joins mappings. An image in the middle of other code is not
// found. Test: TestMachOInMemory; integration, TestMachO.
func (c *capture) addAnonymous(maps []Mapping) {
	if c.Memory == nil {
		return
	}
	for _, m := range maps {
		if !anonymousCode(&m) {
			continue
		}
		for at := m.Start; at < m.End && at < 1<<63; {
			f, err := macho.Loaded(c.Memory, at)
			if err != nil || f.Type == macho.Object || f.End()-f.Base() < f.HeaderSize {
				break // other code
			}
			h := machOHeaders(f, 0)
			path := "[" + BaseName(f.Name) + "]"
			if f.Name == "" || len(path) > MaxPath {
				path = "[Mach-O]"
			}
			if ranges := h.loaded(at-f.Base(), maps); len(ranges) > 0 {
				c.images = append(c.images, Image{
					Base: at, EndOfText: ranges[len(ranges)-1].End, BuildID: f.UUID, Path: path,
					Loaded: &Loaded{Bias: at, HasBias: true, Executable: ranges, Machine: h.machine, Class: h.class, File: FileNone},
				})
			}
			size := (f.End() - f.Base() + pageSize - 1) &^ (pageSize - 1)
			if size == 0 || at+size < at {
				break
			}
			at += size
		}
	}
}

// anonymousCode says whether a mapping is executable memory without a file.
func anonymousCode(m *Mapping) bool {
	return m.Inode == 0 && m.Executable() && m.Perm[0] == 'r' && (m.Path == "" || strings.HasPrefix(m.Path, "[anon"))
}

// loaded lists where the image's executable segments lie in executable memory
// without a file, if it was moved by bias.
func (i *headers) loaded(bias uint64, maps []Mapping) (out []Range) {
	for _, p := range i.loads {
		if p.Flags&elf.PF_X == 0 {
			continue
		}
		start := bias + p.Vaddr
		for _, m := range maps {
			if low, high := max(m.Start, start), min(m.End, start+p.Memsz); low < high && anonymousCode(&m) {
				out = append(out, Range{Start: low, End: high})
			}
		}
	}
	slices.SortFunc(out, func(a, b Range) int {
		if a.Start < b.Start {
			return -1
		}
		return 1
	})
	return out
}
