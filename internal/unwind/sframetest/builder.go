package sframetest

import (
	"encoding/binary"
	"encoding/hex"
	"strings"

	"github.com/clewdbg/clew/unwind"
)

// Builder writes one table.
type Builder struct {
	Version uint8
	Flags   uint8
	Arch    unwind.Arch
	Big     bool
	FixedRA int8
	Aux     []byte // auxiliary header
	Addr    uint64 // of the section
	funcs   []Func
}

// Func is a function of a table.
type Func struct {
	Start uint64
	Size  uint32
	Rows  string // as hexadecimal digits; blanks and | are for the reader
	Count int    // of rows
	Info  uint8
	Info2 uint8 // version 3
	Block uint8
}

// Bits of Func.Info.
const (
	Addr2, Addr4 = 1, 2
	Mask         = 0x10
	KeyB         = 0x20
	Signal       = 0x80
	Flexible     = 1 // of Info2
)

// For returns a builder for an architecture's tables as its assembler writes them.
func For(version uint8, arch unwind.Arch, addr uint64) *Builder {
	b := &Builder{Version: version, Arch: arch, Addr: addr, Flags: 1, Big: arch == unwind.S390X}
	if arch == unwind.AMD64 {
		b.FixedRA = -8
	}
	if version == 3 {
		b.Flags |= 4
	}
	return b
}

// Add adds a function.
func (b *Builder) Add(f Func) *Builder {
	b.funcs = append(b.funcs, f)
	return b
}

// Hex returns the bytes that hexadecimal digits stand for.
func Hex(text string) []byte {
	p, err := hex.DecodeString(strings.NewReplacer(" ", "", "|", "").Replace(text))
	if err != nil {
		panic(err) // a mistake of the test
	}
	return p
}

// Bytes is the table.
func (b *Builder) Bytes() []byte {
	var order interface {
		binary.AppendByteOrder
		binary.ByteOrder
	} = binary.LittleEndian
	if b.Big {
		order = binary.BigEndian
	}
	abi := map[unwind.Arch]byte{unwind.AMD64: 3, unwind.ARM64: 2, unwind.S390X: 4}[b.Arch]
	if b.Arch == unwind.ARM64 && b.Big {
		abi = 1
	}
	size := map[uint8]int{1: 17, 2: 20, 3: 16}[b.Version]
	first := 28 + len(b.Aux)
	var entries, rows []byte
	count := 0
	for i, f := range b.funcs {
		base := b.Addr
		if b.Flags&4 != 0 {
			base += uint64(first + i*size)
		}
		if b.Version == 3 {
			entries = order.AppendUint64(entries, f.Start-base)
			entries = order.AppendUint32(entries, f.Size)
			entries = order.AppendUint32(entries, uint32(len(rows)))
			rows = append(order.AppendUint16(rows, uint16(f.Count)), f.Info, f.Info2, f.Block)
		} else {
			entries = order.AppendUint32(entries, uint32(f.Start-base))
			entries = order.AppendUint32(entries, f.Size)
			entries = order.AppendUint32(entries, uint32(len(rows)))
			entries = order.AppendUint32(entries, uint32(f.Count))
			entries = append(entries, f.Info)
			if b.Version == 2 {
				entries = append(entries, f.Block, 0, 0)
			}
		}
		rows = append(rows, Hex(f.Rows)...)
		count += f.Count
	}
	out := order.AppendUint16(nil, 0xdee2)
	out = append(out, b.Version, b.Flags, abi, 0, byte(b.FixedRA), byte(len(b.Aux)))
	for _, v := range []int{len(b.funcs), count, len(rows), 0, len(entries)} {
		out = order.AppendUint32(out, uint32(v))
	}
	return append(append(append(out, b.Aux...), entries...), rows...)
}
