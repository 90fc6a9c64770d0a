package symbols

import (
	"encoding/binary"

	"github.com/clewdbg/clew/imagemap/macho"
	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/internal/unwind/prologue"
)

// modelledMachO is a Mach-O file as its model sees it. Pointers that dyld fills in are not read.
type modelledMachO struct {
	pages
	macho *machoFile
	names map[uint64]string // of imported functions, by their slots
}

func newModelledMachO(f *File, m *machoFile) *modelledMachO {
	out := &modelledMachO{pages: pages{file: f}, macho: m, names: make(map[uint64]string)}
	stubs, _ := m.Stubs()
	for _, s := range stubs {
		if slot, ok := stubSlot(m.CPU, m.Code(s.Addr, int(min(s.Size, maxStub))), s.Addr); ok {
			out.names[slot] = cName(s.Name)
		}
	}
	return out
}

// maxStub is more than any stub takes, in bytes.
const maxStub = 16

// stubSlot is the pointer that a stub jumps through: jmp *slot(%rip), or adrp x16; ldr x16; br.
func stubSlot(cpu macho.CPU, code []byte, addr uint64) (slot uint64, ok bool) {
	var d prologue.Decoder
	switch {
	case cpu == macho.X86_64:
		in := d.AMD64(code, addr)
		return in.Pointer, in.Pointer != 0
	case cpu != macho.ARM64 || len(code) < 8:
		return 0, false
	}
	page, load := binary.LittleEndian.Uint32(code), binary.LittleEndian.Uint32(code[4:])
	if page&0x9f000000 != 0x90000000 || load&0xffc00000 != 0xf9400000 {
		return 0, false
	}
	pages := int64(int32(page<<8)>>11)&^3 | int64(page>>29&3)
	return addr&^0xfff + uint64(pages<<12) + uint64(load>>10&0xfff)*8, true
}

// Data implements [codemodel.Contents].
func (m *modelledMachO) Data(addr uint64, n int) []byte {
	const writable = 2
	for i := range m.macho.Segments {
		s := &m.macho.Segments[i]
		if addr < s.Addr || addr-s.Addr >= s.Size || s.Prot&writable != 0 {
			continue
		}
		if out := m.macho.Contents(addr, n); len(out) == n {
			return out
		}
	}
	return nil
}

// Slot implements [codemodel.Contents].
func (m *modelledMachO) Slot(addr uint64) (uint64, string) { return 0, m.names[addr] }

// Bounds implements [codemodel.Contents].
func (m *modelledMachO) Bounds(addr uint64) (codemodel.Piece, bool) {
	fn, ok := m.file.function(addr)
	return codemodel.Piece{Start: fn.start, End: fn.end, Part: fragment(fn.name)}, ok && fn.sized
}

// Layout implements [codemodel.WholeImage].
func (m *modelledMachO) Layout() *codemodel.Layout {
	_, exceptions := m.macho.File.Section("__gcc_except_tab")
	l := &codemodel.Layout{Code: m.macho.CodeRanges(), Exceptions: exceptions}
	for _, fn := range m.file.functions() {
		l.Known = append(l.Known, codemodel.Start{Addr: fn.start, Source: codemodel.Symbol, Grade: prologue.Proven, Part: fragment(fn.name)})
	}
	return l
}
