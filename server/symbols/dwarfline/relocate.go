package dwarfline

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/clewdbg/clew/internal/elffile"
)

// In an object file (ET_REL) debugging information has zeros where addresses and offsets of
// other sections belong; tables of relocations say what to write there. Sections have
// no addresses yet, but for those of generated code, into whose headers JIT
// compilers write them.

var errRelocation = errors.New("a relocation that is invalid")

// relocated opens a section of an object file with its relocations applied.
func relocated(f *elf.File, s *elf.Section, contents Section) Section {
	return Section{Size: contents.Size, Open: func() (io.Reader, error) {
		data := make([]byte, contents.Size)
		from := io.Reader(io.NewSectionReader(s, 0, int64(contents.Size)))
		if contents.At == nil {
			var err error
			if from, err = contents.Open(); err != nil {
				return nil, err
			}
		}
		if _, err := io.ReadFull(from, data); err != nil {
			return nil, err
		}
		if err := relocate(f, s, data); err != nil {
			return nil, err
		}
		return bytes.NewReader(data), nil
	}}
}

// relocate applies the relocations of a section.
func relocate(f *elf.File, s *elf.Section, data []byte) error {
	r := relocations{f: f, data: data}
	for _, table := range f.Sections {
		if table.Type != elf.SHT_RELA || int(table.Info) >= len(f.Sections) || f.Sections[table.Info] != s {
			continue
		}
		entries, err := table.Data()
		if err != nil {
			return err
		}
		if r.symbols == nil { // once, whatever the number of tables
			for _, symbol := range elffile.Symbols(f, elf.SHT_SYMTAB) {
				r.symbols = append(r.symbols, symbol)
			}
		}
		for size := r.entrySize(); len(entries) >= size; entries = entries[size:] {
			if err := r.apply(entries); err != nil {
				return err
			}
		}
	}
	return nil
}

// relocations are what is written into a section.
type relocations struct {
	f       *elf.File
	symbols []elf.Symbol // from the table's second on: the first has no symbol
	data    []byte
}

// entrySize is the size of an entry: a place, what to do, and a number to add.
func (r *relocations) entrySize() int {
	if r.f.Class == elf.ELFCLASS64 {
		return 24
	}
	return 12
}

func (r *relocations) apply(entry []byte) error {
	order := r.f.ByteOrder
	var at, symbol, kind, value uint64
	if r.f.Class == elf.ELFCLASS64 {
		info := order.Uint64(entry[8:])
		at, symbol, kind, value = order.Uint64(entry), info>>32, info&0xffffffff, order.Uint64(entry[16:])
	} else {
		info := order.Uint32(entry[4:])
		at, symbol, kind, value = uint64(order.Uint32(entry)), uint64(info>>8), uint64(info&0xff), uint64(int32(order.Uint32(entry[8:])))
	}
	size, ok := relocationSize(r.f.Machine, kind)
	if !ok {
		return fmt.Errorf("a relocation of an unknown kind, %d of %v", kind, r.f.Machine)
	}
	if at > uint64(len(r.data)) || uint64(len(r.data))-at < uint64(size) || symbol > uint64(len(r.symbols)) {
		return errRelocation
	}
	if symbol > 0 {
		value += r.address(&r.symbols[symbol-1])
	}
	put(order, r.data[at:][:size], value)
	return nil
}

// address is where a symbol lies: its value counts from its section's start.
func (r *relocations) address(s *elf.Symbol) uint64 {
	if i := int(s.Section); i > 0 && i < len(r.f.Sections) {
		return s.Value + r.f.Sections[i].Addr
	}
	return s.Value
}

func put(order binary.ByteOrder, to []byte, value uint64) {
	switch len(to) {
	case 4:
		order.PutUint32(to, uint32(value))
	case 8:
		order.PutUint64(to, value)
	}
}

// relocationSize is how many bytes a kind of relocation writes: an address or offset.
// Other kinds are not found in debugging information.
func relocationSize(m elf.Machine, kind uint64) (size int, ok bool) {
	switch m {
	case elf.EM_X86_64:
		size = map[elf.R_X86_64]int{elf.R_X86_64_NONE: 0, elf.R_X86_64_64: 8, elf.R_X86_64_32: 4, elf.R_X86_64_32S: 4, elf.R_X86_64_DTPOFF64: 8, elf.R_X86_64_DTPOFF32: 4}[elf.R_X86_64(kind)]
		return size, size > 0 || kind == 0
	case elf.EM_AARCH64:
		size = map[elf.R_AARCH64]int{elf.R_AARCH64_NONE: 0, elf.R_AARCH64_ABS64: 8, elf.R_AARCH64_ABS32: 4, elf.R_AARCH64_TLS_DTPREL64: 8}[elf.R_AARCH64(kind)]
		return size, size > 0 || kind == 0
	case elf.EM_S390:
		size = map[elf.R_390]int{elf.R_390_NONE: 0, elf.R_390_64: 8, elf.R_390_32: 4, elf.R_390_TLS_LDO64: 8}[elf.R_390(kind)]
		return size, size > 0 || kind == 0
	}
	return 0, false
}
