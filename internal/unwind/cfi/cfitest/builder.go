package cfitest

import (
	"encoding/binary"

	"github.com/clewdbg/clew/internal/unwind/cfi"
)

// Builder writes a section. The zero value writes .eh_frame in little-endian
// order for 64-bit targets.
type Builder struct {
	Kind  cfi.Kind
	Addr  uint64 // of the section
	Order binary.ByteOrder
	Long  bool // the 64-bit format

	data []byte
}

// CIE holds the fields of a CIE.
type CIE struct {
	Version   byte // 0 means 1
	Aug       string
	CodeAlign uint64 // 0 means 1
	DataAlign int64  // 0 means -8
	RA        byte
	AugData   []byte
	Code      []byte // instructions
}

func (b *Builder) order() binary.ByteOrder {
	if b.Order == nil {
		return binary.LittleEndian
	}
	return b.Order
}

func (b *Builder) word(size int, v uint64) []byte {
	p := make([]byte, 8)
	switch size {
	case 4:
		b.order().PutUint32(p, uint32(v))
	default:
		b.order().PutUint64(p, v)
	}
	return p[:size]
}

// entry writes length and body, and returns the entry's offset.
func (b *Builder) entry(id func(idAt int) []byte, body []byte) int {
	off := len(b.data)
	head := 4
	if b.Long {
		head = 12
	}
	content := append(id(off+head), body...)
	for (head+len(content))%8 != 0 {
		content = append(content, 0)
	}
	if b.Long {
		b.data = append(b.data, 0xff, 0xff, 0xff, 0xff)
		b.data = append(b.data, b.word(8, uint64(len(content)))...)
	} else {
		b.data = append(b.data, b.word(4, uint64(len(content)))...)
	}
	b.data = append(b.data, content...)
	return off
}

// idSize is the size of a CIE's id and of an FDE's pointer to its CIE.
func (b *Builder) idSize() int {
	if b.Long && b.Kind == cfi.DebugFrame {
		return 8
	}
	return 4
}

// CIE writes a CIE and returns its offset.
func (b *Builder) CIE(c CIE) int {
	if c.Version == 0 {
		c.Version = 1
	}
	if c.CodeAlign == 0 {
		c.CodeAlign = 1
	}
	if c.DataAlign == 0 {
		c.DataAlign = -8
	}
	body := append([]byte{c.Version}, c.Aug...)
	body = append(body, 0)
	if c.Version == 4 {
		body = append(body, 8, 0)
	}
	if c.Aug == "eh" {
		body = append(body, make([]byte, 8)...)
	}
	body = append(append(append(body, ULEB(c.CodeAlign)...), SLEB(c.DataAlign)...), c.RA)
	if len(c.Aug) > 0 && c.Aug[0] == 'z' {
		body = append(append(body, ULEB(uint64(len(c.AugData)))...), c.AugData...)
	}
	return b.entry(func(int) []byte {
		id := uint64(0)
		if b.Kind == cfi.DebugFrame {
			id = ^uint64(0)
		}
		return b.word(b.idSize(), id)
	}, append(body, c.Code...))
}

// FDE writes an FDE, body being the bytes behind the pointer to the CIE, and
// returns its offset.
func (b *Builder) FDE(cie int, body ...[]byte) int {
	var all []byte
	for _, p := range body {
		all = append(all, p...)
	}
	return b.entry(func(idAt int) []byte {
		if b.Kind == cfi.DebugFrame {
			return b.word(b.idSize(), uint64(cie))
		}
		return b.word(4, uint64(idAt-cie))
	}, all)
}

// Quad is an 8-byte number.
func (b *Builder) Quad(v uint64) []byte { return b.word(8, v) }

// Long4 is a 4-byte number.
func (b *Builder) Long4(v uint64) []byte { return b.word(4, v) }

// Next is the address of the byte behind the pointer to the CIE in the next
// FDE, for pointers that are relative to their place.
func (b *Builder) Next() uint64 {
	head := 8
	if b.Long {
		head = 16
	}
	return b.Addr + uint64(len(b.data)+head)
}

// Raw writes bytes as they are.
func (b *Builder) Raw(p ...byte) { b.data = append(b.data, p...) }

// End writes the zero terminator.
func (b *Builder) End() { b.Raw(0, 0, 0, 0) }

// Bytes are the bytes written.
func (b *Builder) Bytes() []byte { return b.data }

// Section is the bytes written, as a section.
func (b *Builder) Section() cfi.Section {
	name := ".eh_frame"
	if b.Kind == cfi.DebugFrame {
		name = ".debug_frame"
	}
	return cfi.Section{Name: name, Kind: b.Kind, Addr: b.Addr, Data: b.data}
}

// ULEB is an unsigned LEB128.
func ULEB(v uint64) []byte { return binary.AppendUvarint(nil, v) }

// SLEB is a signed LEB128.
func SLEB(v int64) []byte {
	var p []byte
	for {
		b := byte(v & 0x7f)
		v >>= 7
		if v == 0 && b&0x40 == 0 || v == -1 && b&0x40 != 0 {
			return append(p, b)
		}
		p = append(p, b|0x80)
	}
}
