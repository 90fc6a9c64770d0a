package imagemap_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/clewdbg/clew/imagemap"
)

// elfFile is an ELF file in the making: headers, then content at its offsets.
type elfFile struct {
	class   elf.Class
	order   binary.ByteOrder
	machine elf.Machine
	progs   []elf.ProgHeader
	content map[uint64][]byte // by offset
	size    int
}

func note(order binary.ByteOrder, align int, name string, typ uint32, desc []byte) []byte {
	pad := func(b []byte) []byte {
		for len(b)%align != 0 {
			b = append(b, 0)
		}
		return b
	}
	var b []byte
	for _, v := range []uint32{uint32(len(name)), uint32(len(desc)), typ} {
		b, _ = binary.Append(b, order, v) // cannot fail: a number
	}
	return pad(append(pad(append(b, name...)), desc...))
}

var sampleID = []byte{0, 1, 2, 3, 0xfe}

// sampleELF is a library as linkers make them: a read-only segment with notes,
// then code. Its first segment is at virtual address 0x10000.
func sampleELF() *elfFile {
	order := binary.LittleEndian
	notes := append(note(order, 4, "Go\x00\x00", 4, []byte("go/build/id")), note(order, 4, "GNU\x00", 3, sampleID)...)
	return &elfFile{
		class: elf.ELFCLASS64, order: order, machine: elf.EM_X86_64, size: 0x2000,
		progs: []elf.ProgHeader{
			{Type: elf.PT_LOAD, Flags: elf.PF_R, Off: 0, Vaddr: 0x10000, Filesz: 0x500, Memsz: 0x500, Align: 0x1000},
			{Type: elf.PT_LOAD, Flags: elf.PF_R | elf.PF_X, Off: 0x1100, Vaddr: 0x12100, Filesz: 0x345, Memsz: 0x345, Align: 0x1000},
			{Type: elf.PT_NOTE, Flags: elf.PF_R, Off: 0x400, Vaddr: 0x10400, Filesz: uint64(len(notes)), Memsz: uint64(len(notes)), Align: 4},
		},
		content: map[uint64][]byte{0x400: notes},
	}
}

func (f *elfFile) bytes() []byte {
	ident := [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(f.class), byte(elf.ELFDATA2LSB), 1}
	if f.order == binary.ByteOrder(binary.BigEndian) {
		ident[elf.EI_DATA] = byte(elf.ELFDATA2MSB)
	}
	var b bytes.Buffer
	add := func(v any) {
		if err := binary.Write(&b, f.order, v); err != nil {
			panic(err)
		}
	}
	if f.class == elf.ELFCLASS64 {
		add(elf.Header64{Ident: ident, Type: 3, Machine: uint16(f.machine), Version: 1, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: uint16(len(f.progs))})
		for _, p := range f.progs {
			add(elf.Prog64{Type: uint32(p.Type), Flags: uint32(p.Flags), Off: p.Off, Vaddr: p.Vaddr, Filesz: p.Filesz, Memsz: p.Memsz, Align: p.Align})
		}
	} else {
		add(elf.Header32{Ident: ident, Type: 3, Machine: uint16(f.machine), Version: 1, Phoff: 52, Ehsize: 52, Phentsize: 32, Phnum: uint16(len(f.progs))})
		for _, p := range f.progs {
			add(elf.Prog32{Type: uint32(p.Type), Flags: uint32(p.Flags), Off: uint32(p.Off), Vaddr: uint32(p.Vaddr), Filesz: uint32(p.Filesz), Memsz: uint32(p.Memsz), Align: uint32(p.Align)})
		}
	}
	out := make([]byte, f.size)
	copy(out, b.Bytes())
	for off, c := range f.content {
		copy(out[off:], c)
	}
	return out
}

func TestReadBuildID(t *testing.T) {
	gnu := func(order binary.ByteOrder, align int) []byte {
		return append(note(order, align, "GNU\x00", 5, make([]byte, 16)), note(order, align, "GNU\x00", 3, sampleID)...)
	}
	with := func(change func(*elfFile)) []byte {
		f := sampleELF()
		change(f)
		return f.bytes()
	}
	setNotes := func(f *elfFile, notes []byte, align uint64) {
		f.content[0x400] = notes
		f.progs[2].Filesz, f.progs[2].Align = uint64(len(notes)), align
	}
	for _, tt := range []struct {
		name string
		data []byte
		want []byte
		err  error
	}{
		{"after Go's own", sampleELF().bytes(), sampleID, nil},
		{"only Go's own", with(func(f *elfFile) { setNotes(f, note(f.order, 4, "Go\x00\x00", 4, []byte("x")), 4) }), nil, nil},
		{"behind the notes", with(func(f *elfFile) { f.progs[2].Filesz -= uint64(len(note(f.order, 4, "GNU\x00", 3, sampleID))) }), sampleID, nil},
		{"behind the notes, and the loaded part ends before", with(func(f *elfFile) {
			f.progs[2].Filesz -= uint64(len(note(f.order, 4, "GNU\x00", 3, sampleID)))
			f.progs[0].Filesz = f.progs[2].Off + f.progs[2].Filesz
		}), nil, nil},
		{"behind the notes, another note", with(func(f *elfFile) {
			setNotes(f, append(note(f.order, 4, "Go\x00\x00", 4, []byte("x")), note(f.order, 4, "GNU\x00", 5, sampleID)...), 4)
			f.progs[2].Filesz = uint64(len(note(f.order, 4, "Go\x00\x00", 4, []byte("x"))))
		}), nil, nil},
		{"aligned to 8", with(func(f *elfFile) { setNotes(f, gnu(f.order, 8), 8) }), sampleID, nil},
		{"alignment 0", with(func(f *elfFile) { setNotes(f, gnu(f.order, 4), 0) }), sampleID, nil},
		{"big-endian", with(func(f *elfFile) { f.order = binary.BigEndian; setNotes(f, gnu(f.order, 4), 4) }), sampleID, nil},
		{"32 bits", with(func(f *elfFile) { f.class = elf.ELFCLASS32 }), sampleID, nil},
		{"32 bits, big-endian", with(func(f *elfFile) {
			f.class, f.order = elf.ELFCLASS32, binary.BigEndian
			setNotes(f, gnu(f.order, 4), 4)
		}), sampleID, nil},
		{"no program headers", with(func(f *elfFile) { f.progs = nil }), nil, nil},
		{"notes cut", with(func(f *elfFile) { f.progs[2].Filesz -= 8 }), nil, nil},
		{"lengths that lie", with(func(f *elfFile) { setNotes(f, bytes.Repeat([]byte{0xff}, 40), 4) }), nil, nil},
		{"notes outside", with(func(f *elfFile) { f.progs[2].Off = 0x1ff8 }), nil, imagemap.ErrELF},
		{"notes far outside", with(func(f *elfFile) { f.progs[2].Off = 1 << 63 }), nil, imagemap.ErrELF},
		{"huge notes", with(func(f *elfFile) { f.progs[2].Filesz = 1 << 40 }), nil, imagemap.ErrELF},
		{"empty", nil, nil, imagemap.ErrNotELF},
		{"text", []byte(strings.Repeat("#!/bin/sh\n", 9)), nil, imagemap.ErrNotELF},
		{"class 3", with(func(f *elfFile) { f.class = 3 }), nil, imagemap.ErrELF},
		{"header cut", sampleELF().bytes()[:40], nil, imagemap.ErrELF},
		{"program headers cut", sampleELF().bytes()[:100], nil, imagemap.ErrELF},
	} {
		got, err := imagemap.ReadBuildID(bytes.NewReader(tt.data))
		if !bytes.Equal(got, tt.want) || !errors.Is(err, tt.err) {
			t.Errorf("%s: % x, %v; want % x, %v", tt.name, got, err, tt.want, tt.err)
		}
	}
}
