package jit

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io"

	"github.com/clewdbg/clew/internal/elffile"
)

// Object is a registered ELF file. Its addresses are the process's: code
// generators write them into the section headers.
type Object struct {
	Symbols []Symbol
	Code    []Range // where its sections of code are
	Frames  Range   // where its .eh_frame is; empty if there is none
}

// Range is the addresses Start to End, without End.
type Range struct{ Start, End uint64 }

// ReadObject reads a registered file from memory.
func ReadObject(memory io.ReaderAt, r Registered) (*Object, error) {
	if !r.valid() {
		return nil, fmt.Errorf("file of JIT at %#x: %d bytes", r.Addr, r.Size)
	}
	// A size that is a lie costs no memory.
	if err := readAt(memory, r.Addr+r.Size-1, make([]byte, 1)); err != nil {
		return nil, fmt.Errorf("file of JIT at %#x: %w", r.Addr, err)
	}
	raw := make([]byte, r.Size)
	if err := readAt(memory, r.Addr, raw); err != nil {
		return nil, fmt.Errorf("file of JIT at %#x: %w", r.Addr, err)
	}
	o, err := parseObject(raw, r.Addr)
	if err != nil {
		return nil, fmt.Errorf("file of JIT at %#x: %w", r.Addr, err)
	}
	return o, nil
}

// parseObject reads the file that lies at addr.
func parseObject(raw []byte, addr uint64) (*Object, error) {
	f, left, err := elffile.New(bytes.NewReader(raw), int64(len(raw)), int64(len(raw)))
	if err != nil {
		return nil, err
	}
	o := &Object{Code: codeOf(f), Frames: framesOf(f, addr)}
	if left != nil {
		return nil, left
	}
	for _, s := range elffile.Symbols(f, elf.SHT_SYMTAB) {
		if fn, ok := objectSymbol(f, s); ok && len(o.Symbols) < maxSymbols {
			o.Symbols = append(o.Symbols, fn)
		}
	}
	return o, nil
}

func codeOf(f *elf.File) (out []Range) {
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 && s.Addr != 0 && s.Addr+s.Size > s.Addr {
			out = append(out, Range{s.Addr, s.Addr + s.Size})
		}
	}
	return out
}

// framesOf says where the .eh_frame is: where the section was loaded and
// relocated to, or in the file itself, whose frames are written with final
// addresses then (LuaJIT).
func framesOf(f *elf.File, addr uint64) Range {
	s := f.Section(".eh_frame")
	if s == nil || s.Type == elf.SHT_NOBITS || s.Size == 0 || s.Size > maxFileSize {
		return Range{}
	}
	start := s.Addr
	if start == 0 {
		start = addr + s.Offset
	}
	if start+s.Size < start {
		return Range{}
	}
	return Range{start, start + s.Size}
}

// objectSymbol returns the function that a symbol names. In a relocatable file its
// value counts from its section's start.
func objectSymbol(f *elf.File, s elf.Symbol) (Symbol, bool) {
	if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Name == "" || int(s.Section) <= 0 || int(s.Section) >= len(f.Sections) {
		return Symbol{}, false
	}
	section := f.Sections[s.Section]
	start, end := s.Value, section.Addr+section.Size
	if f.Type == elf.ET_REL {
		start += section.Addr
	}
	if s.Size > 0 {
		end = min(end, start+s.Size)
	}
	if section.Addr == 0 || start < section.Addr || start >= end {
		return Symbol{}, false
	}
	return Symbol{start, end, s.Name[:min(len(s.Name), maxName)]}, true
}
