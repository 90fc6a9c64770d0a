package macho

import (
	"bytes"
	"encoding/binary"
	"io"
)

// Types of images (filetype).
const (
	Object  uint32 = 1
	Execute uint32 = 2
	Dylib   uint32 = 6
	DSYM    uint32 = 10
)

// Limits; a linker makes far less.
const (
	maxCommands = 16 << 20 // bytes
	maxSections = 1 << 16
)

// File is an image: its header and load commands. It never changes.
type File struct {
	CPU      CPU
	SubCPU   uint32
	Type     uint32 // [Execute], [Dylib], ...
	Segments []Segment
	// Sections are those of all segments, in the order in which symbols number
	// them, from 1.
	Sections []Section
	UUID     []byte // 16 bytes, nil without LC_UUID
	// Name is the name that a library was given to be found by (LC_ID_DYLIB).
	Name string
	// HeaderSize is the size of the header with its load commands, in bytes.
	HeaderSize uint64

	data     map[uint32]extent // of load commands that name data, by command
	symtab   symtab
	indirect extent // of words
	r        io.ReaderAt
}

// Segment is a part of an image that is loaded as one.
type Segment struct {
	Name         string
	Addr, Size   uint64 // in memory; Addr as the linker gave it
	Offset, Data uint64 // in the file: where, and how many bytes
	Prot         uint32 // when it is loaded: 1 read, 2 write, 4 execute
}

// Executable says whether code can run in the segment.
func (s *Segment) Executable() bool { return s.Prot&4 != 0 && s.Size > 0 }

// Section is a part of a segment.
type Section struct {
	Name, Segment string
	Addr, Size    uint64
	Offset        uint64
	Flags         uint32
	// Reserved1 and Reserved2 of stubs are the first one's index among the indirect
	// symbols and the size of each.
	Reserved1, Reserved2 uint32
}

const (
	sectionType     = 0xff
	typeZeroFill    = 1
	typeGBZeroFill  = 12
	typeTLZeroFill  = 18
	typeSymbolStubs = 8
	attrSomeCode    = 0x400
	attrPureCode    = 0x8000_0000
)

// Code says whether the section holds instructions.
func (s *Section) Code() bool { return s.Flags&(attrSomeCode|attrPureCode) != 0 }

// stubs says whether it holds jumps to imported functions.
func (s *Section) stubs() bool { return s.Flags&sectionType == typeSymbolStubs }

// empty says whether the file has no data for it.
func (s *Section) empty() bool {
	t := s.Flags & sectionType
	return t == typeZeroFill || t == typeGBZeroFill || t == typeTLZeroFill
}

// extent is a piece of a file.
type extent struct{ offset, size uint64 }

// symtab is LC_SYMTAB.
type symtab struct {
	symbols uint64
	count   uint32
	strings extent
}

// Load commands.
const (
	lcSegment        = 0x1
	lcSymtab         = 0x2
	lcDysymtab       = 0xb
	lcIDDylib        = 0xd
	lcSegment64      = 0x19
	lcUUID           = 0x1b
	lcFunctionStarts = 0x26
)

// FunctionStarts is the load command LC_FUNCTION_STARTS; see [File.Command].
const FunctionStarts uint32 = lcFunctionStarts

// Read reads the header of a thin image at offset 0, and its load commands. It
// fails with [ErrNotMachO], [ErrUniversal], an [*Error] or the reader's error.
func Read(r io.ReaderAt) (*File, error) {
	slices, err := Slices(r)
	switch {
	case err != nil:
		return nil, err
	case len(slices) != 1 || slices[0].Offset != 0:
		return nil, ErrUniversal
	}
	var head [32]byte
	if n, err := r.ReadAt(head[:], 0); n < len(head) {
		return nil, cutOff(0, "the header", err)
	}
	order := binary.LittleEndian
	f := &File{
		CPU: CPU(order.Uint32(head[4:])), SubCPU: order.Uint32(head[8:]), Type: order.Uint32(head[12:]),
		data: make(map[uint32]extent), r: r,
	}
	if !f.CPU.known() || f.CPU.Is64() != (order.Uint32(head[:]) == magic64) {
		return nil, errorf(4, "images of %v cannot be read", f.CPU)
	}
	n, size := order.Uint32(head[16:]), uint64(order.Uint32(head[20:]))
	start := uint64(28)
	if f.CPU.Is64() {
		start = 32
	}
	if size > maxCommands {
		return nil, errorf(20, "%d bytes of load commands", size)
	}
	commands := make([]byte, size)
	if got, err := r.ReadAt(commands, int64(start)); got < len(commands) {
		return nil, cutOff(start, "the load commands", err)
	}
	f.HeaderSize = start + size
	return f, f.commands(commands, n, start)
}

// commands reads load commands that lie at an offset.
func (f *File) commands(raw []byte, n uint32, offset uint64) error {
	for i := range n {
		if len(raw) < 8 {
			return errorf(offset, "load command %d of %d lies beyond the load commands", i, n)
		}
		size := binary.LittleEndian.Uint32(raw[4:])
		if size < 8 || uint64(size) > uint64(len(raw)) {
			return errorf(offset, "load command %d has %d bytes, of %d that are left", i, size, len(raw))
		}
		if err := f.command(binary.LittleEndian.Uint32(raw), raw[:size], offset); err != nil {
			return err
		}
		raw, offset = raw[size:], offset+uint64(size)
	}
	return nil
}

// commandSizes are how many bytes the load commands that are read have at least.
var commandSizes = map[uint32]int{
	lcSegment: segmentLayout(false).size, lcSegment64: segmentLayout(true).size, lcUUID: 24, lcSymtab: 24, lcDysymtab: 64, lcFunctionStarts: 16,
}

func (f *File) command(kind uint32, raw []byte, offset uint64) error {
	if len(raw) < commandSizes[kind] {
		return errorf(offset, "load command %#x has %d bytes only", kind, len(raw))
	}
	word := func(at int) uint32 { return binary.LittleEndian.Uint32(raw[at:]) }
	switch kind {
	case lcSegment, lcSegment64:
		return f.segment(raw, kind == lcSegment64, offset)
	case lcUUID:
		f.UUID = bytes.Clone(raw[8:24])
	case lcSymtab:
		f.symtab = symtab{symbols: uint64(word(8)), count: word(12), strings: extent{uint64(word(16)), uint64(word(20))}}
	case lcDysymtab:
		f.indirect = extent{uint64(word(56)), 4 * uint64(word(60))}
	case lcIDDylib:
		if len(raw) >= 12 && uint64(word(8)) < uint64(len(raw)) {
			f.Name = text(raw[word(8):])
		}
	case lcFunctionStarts:
		f.data[kind] = extent{uint64(word(8)), uint64(word(12))}
	}
	return nil
}

// layout is where the fields of a segment command are. Its sections follow it.
type layout struct{ size, word, sectionSize int }

func segmentLayout(wide bool) layout {
	if wide {
		return layout{72, 8, 80}
	}
	return layout{56, 4, 68}
}

func (f *File) segment(raw []byte, wide bool, offset uint64) error {
	l := segmentLayout(wide)
	word := func(raw []byte, at, i int) uint64 { // the i-th address-sized word from at on
		if wide {
			return binary.LittleEndian.Uint64(raw[at+8*i:])
		}
		return uint64(binary.LittleEndian.Uint32(raw[at+4*i:]))
	}
	tail := 24 + 4*l.word // behind the words
	s := Segment{
		Name: text(raw[8:24]), Addr: word(raw, 24, 0), Size: word(raw, 24, 1), Offset: word(raw, 24, 2), Data: word(raw, 24, 3),
		Prot: binary.LittleEndian.Uint32(raw[tail+4:]),
	}
	if s.Addr+s.Size < s.Addr || s.Offset > maxOffset || s.Data > maxOffset {
		return errorf(offset, "segment %q at %#x of %#x bytes, in the file at %#x of %#x bytes", s.Name, s.Addr, s.Size, s.Offset, s.Data)
	}
	f.Segments = append(f.Segments, s)
	n := uint64(binary.LittleEndian.Uint32(raw[tail+8:]))
	rest := raw[l.size:]
	if n*uint64(l.sectionSize) > uint64(len(rest)) || len(f.Sections)+int(n) > maxSections {
		return errorf(offset, "segment %q has %d sections, which it has no room for", s.Name, n)
	}
	for range n {
		at := 32 + 2*l.word
		field := func(i int) uint32 { return binary.LittleEndian.Uint32(rest[at+4*i:]) }
		f.Sections = append(f.Sections, Section{
			Name: text(rest[:16]), Segment: text(rest[16:32]), Addr: word(rest, 32, 0), Size: word(rest, 32, 1),
			Offset: uint64(field(0)), Flags: field(4), Reserved1: field(5), Reserved2: field(6),
		})
		rest = rest[l.sectionSize:]
	}
	return nil
}

// text is the bytes up to the first zero.
func text(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b)
}

// Base is the address that the linker gave the header: that of __TEXT.
func (f *File) Base() uint64 {
	for i := range f.Segments {
		if f.Segments[i].Name == "__TEXT" {
			return f.Segments[i].Addr
		}
	}
	return 0
}

// End is the address behind the last byte that the linker gave a place in memory.
func (f *File) End() (end uint64) {
	for i := range f.Segments {
		end = max(end, f.Segments[i].Addr+f.Segments[i].Size)
	}
	return end
}

// Section returns the first section with that name, in any segment.
func (f *File) Section(name string) (*Section, bool) {
	for i := range f.Sections {
		if f.Sections[i].Name == name {
			return &f.Sections[i], true
		}
	}
	return nil, false
}
