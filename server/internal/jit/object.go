package jit

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"

	"github.com/clewdbg/clew/unwind"
)

// Object is a registered ELF file as it was loaded. Code generators write the
// addresses of loaded sections into the section headers.
type Object struct {
	// File is the file with its loaded sections as memory has them, with relocations
	// applied to what is not loaded (DWARF), and with the values of symbols as addresses.
	// No section in it has yet to be linked.
	File []byte
	Code []unwind.Range // where its sections of code are
}

var errNoCode = errors.New("no section of code has an address")

// ReadFile reads a registered file from memory, as it was registered.
func ReadFile(memory io.ReaderAt, r Registered) ([]byte, error) {
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
	return raw, nil
}

// Load makes an object of a registered file, which lies at addr and is not changed.
func Load(memory io.ReaderAt, addr uint64, registered []byte) (*Object, error) {
	l, err := newLinker(bytes.Clone(registered))
	if err != nil {
		return nil, fmt.Errorf("file of JIT at %#x: %w", addr, err)
	}
	o := &Object{File: l.raw}
	for _, s := range l.Sections {
		if loaded(s) && s.Flags&elf.SHF_EXECINSTR != 0 && s.Addr+s.Size > s.Addr {
			o.Code = append(o.Code, unwind.Range{Start: s.Addr, End: s.Addr + s.Size})
		}
	}
	if len(o.Code) == 0 {
		return nil, fmt.Errorf("file of JIT at %#x: %w", addr, errNoCode)
	}
	if l.Type == elf.ET_REL {
		l.link(memory)
	}
	return o, nil
}
