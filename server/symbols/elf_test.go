package symbols

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
)

// testSymbol is a symbol of the test image. Its section is .text.
type testSymbol struct {
	name        string
	value, size uint64
	kind        elf.SymType
	bind        elf.SymBind
}

// testSection is a further section that is not loaded.
type testSection struct {
	name string
	data []byte
}

const (
	testText     = 0x1000 // address of .text
	testTextSize = 0x400
)

// testELF writes an executable of 64-bit ARM with a .text, these symbols
// and further sections.
func testELF(order binary.ByteOrder, symbols []testSymbol, debug ...testSection) []byte {
	const headerSize, progSize, sectionSize = 64, 56, 64
	names := []byte{0}
	table := make([]byte, elf.Sym64Size)
	for _, s := range symbols {
		e := make([]byte, elf.Sym64Size)
		order.PutUint32(e, uint32(len(names)))
		e[4] = elf.ST_INFO(s.bind, s.kind)
		order.PutUint16(e[6:], 1)
		order.PutUint64(e[8:], s.value)
		order.PutUint64(e[16:], s.size)
		table = append(table, e...)
		names = append(append(names, s.name...), 0)
	}
	sectionNames := []byte("\x00.text\x00.symtab\x00.strtab\x00.shstrtab\x00")
	text := bytes.Repeat([]byte{0x1f, 0x20, 0x03, 0xd5}, testTextSize/4) // nop

	out := make([]byte, headerSize+progSize)
	put := func(b []byte) uint64 {
		at := uint64(len(out))
		out = append(out, b...)
		return at
	}
	textAt, tableAt, namesAt := put(text), put(table), put(names)
	sections := []elf.Section64{
		{},
		{Name: 1, Type: uint32(elf.SHT_PROGBITS), Flags: uint64(elf.SHF_ALLOC | elf.SHF_EXECINSTR), Addr: testText, Off: textAt, Size: testTextSize},
		{Name: 7, Type: uint32(elf.SHT_SYMTAB), Off: tableAt, Size: uint64(len(table)), Link: 3, Entsize: elf.Sym64Size},
		{Name: 15, Type: uint32(elf.SHT_STRTAB), Off: namesAt, Size: uint64(len(names))},
		{Name: 23, Type: uint32(elf.SHT_STRTAB)}, // filled in below
	}
	for _, d := range debug {
		sections = append(sections, elf.Section64{Name: uint32(len(sectionNames)), Type: uint32(elf.SHT_PROGBITS), Off: put(d.data), Size: uint64(len(d.data))})
		sectionNames = append(append(sectionNames, d.name...), 0)
	}
	sections[4].Off, sections[4].Size = put(sectionNames), uint64(len(sectionNames))
	sectionsAt := uint64(len(out))
	for _, s := range sections {
		out, _ = binary.Append(out, order, s)
	}
	data := byte(elf.ELFDATA2LSB)
	if order == binary.BigEndian {
		data = byte(elf.ELFDATA2MSB)
	}
	header, _ := binary.Append(nil, order, elf.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), data, 1},
		Type:  uint16(elf.ET_EXEC), Machine: uint16(elf.EM_AARCH64), Version: 1, Entry: testText,
		Phoff: headerSize, Shoff: sectionsAt, Ehsize: headerSize, Phentsize: progSize, Phnum: 1,
		Shentsize: sectionSize, Shnum: uint16(len(sections)), Shstrndx: 4,
	})
	prog, _ := binary.Append(nil, order, elf.Prog64{
		Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Off: textAt, Vaddr: testText, Filesz: testTextSize, Memsz: testTextSize,
	})
	copy(out, header)
	copy(out[headerSize:], prog)
	return out
}
