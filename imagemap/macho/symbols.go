package macho

import (
	"encoding/binary"
	"strings"
)

// Symbol is a symbol that names an address in one of the image's sections.
type Symbol struct {
	Name     string // as in the file: a C function has an underscore in front
	Addr     uint64
	Section  *Section
	External bool
}

const (
	nlistStab     = 0xe0 // any of these bits: for debuggers that read the object files
	nlistType     = 0x0e
	nlistSection  = 0x0e
	nlistExternal = 0x01
)

// maxNames bounds the bytes of names that are read. In the dyld shared cache many
// images share theirs.
const maxNames = 256 << 20

// Symbols returns the symbols that lie in sections (LC_SYMTAB), in the file's order.
// The error is an [*Error] or the reader's.
func (f *File) Symbols() ([]Symbol, error) {
	entries, names, err := f.named()
	if err != nil {
		return nil, err
	}
	var out []Symbol
	for _, e := range entries {
		if e.kind&nlistStab != 0 || e.kind&nlistType != nlistSection || e.section == 0 || int(e.section) > len(f.Sections) {
			continue
		}
		if len(out) == maxNamed {
			return nil, boundf(f.symtab.symbols, "more than %d symbols", maxNamed)
		}
		out = append(out, Symbol{Name: names.at(e.name), Addr: e.value, Section: &f.Sections[e.section-1], External: e.kind&nlistExternal != 0})
	}
	return out, nil
}

// maxStubs is far more than any image has.
const maxStubs = 1 << 20

// Stub is a jump to an imported function.
type Stub struct {
	Name       string // of the function, as in the file; "" if unknown
	Addr, Size uint64
}

// Stubs returns the jumps to imported functions in __stubs and sections like it. The
// error is an [*Error] or the reader's.
func (f *File) Stubs() ([]Stub, error) {
	var out []Stub
	var from *indirect
	for i := range f.Sections {
		s := &f.Sections[i]
		size := uint64(s.Reserved2)
		if !s.stubs() || size < 4 {
			continue
		}
		if s.Size/size > maxStubs-uint64(len(out)) {
			return nil, errorf(s.Offset, "section %s has %d stubs", s.Name, s.Size/size)
		}
		for n := uint64(0); n < s.Size/size; n++ {
			out = append(out, Stub{Addr: s.Addr + n*size, Size: size})
		}
		if from == nil {
			var err error
			if from, err = f.readIndirect(); err != nil {
				return out, err
			}
		}
		from.name(s, out[uint64(len(out))-s.Size/size:])
	}
	return out, nil
}

// indirect are the names of imported functions, by the numbers that sections of stubs begin with.
type indirect struct {
	numbers []byte
	entries []nlist
	names   names
}

func (f *File) readIndirect() (*indirect, error) {
	numbers, err := f.read(f.indirect, "the indirect symbols")
	if err != nil {
		return nil, err
	}
	entries, names, err := f.named()
	return &indirect{numbers, entries, names}, err
}

func (n *indirect) name(s *Section, stubs []Stub) {
	for i := range stubs {
		at := 4 * (uint64(s.Reserved1) + uint64(i))
		if at+4 > uint64(len(n.numbers)) {
			break
		}
		if k := binary.LittleEndian.Uint32(n.numbers[at:]); uint64(k) < uint64(len(n.entries)) {
			stubs[i].Name = n.names.at(n.entries[k].name)
		}
	}
}

// nlist is an entry of the symbol table.
type nlist struct {
	name          uint32 // offset in the strings
	kind, section byte
	value         uint64
}

// More than any image has: entries of the symbol table, and those that are not for debuggers. These are sorted and kept.
const (
	maxSymbols = 8 << 20
	maxNamed   = 3 << 20
)

// named returns the symbols with their names. Names that overlap may be much longer together than what
// the file has of them: that is an error.
func (f *File) named() (entries []nlist, text names, err error) {
	if entries, err = f.nlist(); err != nil {
		return nil, text, err
	}
	if text, err = f.names(entries); err != nil {
		return entries, text, err
	}
	left := 4*len(text.text) + 16<<20
	for _, e := range entries {
		if left -= len(text.at(e.name)); left < 0 {
			return nil, names{}, boundf(f.symtab.strings.offset, "the symbols' names overlap: they are too long together")
		}
	}
	return entries, text, nil
}

// nlistSize is the size of an entry, in bytes.
func (f *File) nlistSize() uint64 {
	if f.CPU.Is64() {
		return 16
	}
	return 12
}

func (f *File) nlist() ([]nlist, error) {
	size := f.nlistSize()
	if f.symtab.count > maxSymbols {
		return nil, boundf(f.symtab.symbols, "%d symbols", f.symtab.count)
	}
	raw, err := f.read(extent{f.symtab.symbols, uint64(f.symtab.count) * size}, "the symbols")
	if err != nil {
		return nil, err
	}
	out := make([]nlist, 0, f.symtab.count)
	for ; len(raw) > 0; raw = raw[size:] {
		e := nlist{name: binary.LittleEndian.Uint32(raw), kind: raw[4], section: raw[5]}
		if f.CPU.Is64() {
			e.value = binary.LittleEndian.Uint64(raw[8:])
		} else {
			e.value = uint64(binary.LittleEndian.Uint32(raw[8:]))
		}
		out = append(out, e)
	}
	return out, nil
}

// names are the names of symbols: the part of the strings that they lie in.
type names struct {
	text  string
	start uint32
}

// maxName is the longest name that is read to its end if it is the last.
const maxName = 4 << 10

func (f *File) names(entries []nlist) (names, error) {
	where, low := f.nameExtent(entries)
	if where.size > maxNames {
		return names{}, errorf(where.offset, "%d bytes of names", where.size)
	}
	raw, err := f.read(where, "the names")
	return names{string(raw), low}, err
}

// nameExtent is the part of the strings that the names lie in, and where in the
// strings it begins.
func (f *File) nameExtent(entries []nlist) (where extent, low uint32) {
	if len(entries) == 0 {
		return extent{}, 0
	}
	low, high := entries[0].name, entries[0].name
	for _, e := range entries {
		low, high = min(low, e.name), max(high, e.name)
	}
	whole := f.symtab.strings
	end := min(uint64(high)+maxName, whole.size)
	if end <= uint64(low) {
		return extent{}, 0
	}
	return extent{whole.offset + uint64(low), end - uint64(low)}, low
}

func (n *names) at(offset uint32) string {
	if offset < n.start || uint64(offset-n.start) >= uint64(len(n.text)) {
		return ""
	}
	name, _, _ := strings.Cut(n.text[offset-n.start:], "\x00")
	return name
}
