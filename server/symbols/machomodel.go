package symbols

import (
	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
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
		if slot := stubSlot(f.Arch(), m.Code(s.Addr, int(min(s.Size, maxStub))), s.Addr); slot != 0 {
			out.names[slot] = cName(s.Name)
		}
	}
	return out
}

// maxStub is more than any stub takes, in bytes.
const maxStub = 16

// stubSlot is the pointer that a stub jumps through, 0 if that is not known.
func stubSlot(arch unwind.Arch, code []byte, addr uint64) uint64 {
	var d prologue.Decoder
	for at := 0; at < len(code); {
		in := d.For(arch, code[at:], addr+uint64(at))
		if in.Pointer != 0 {
			return in.Pointer
		}
		at += in.Len
	}
	return 0
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
	for _, fn := range m.file.functions().all {
		l.Known = append(l.Known, codemodel.Start{Addr: fn.start, Source: codemodel.Symbol, Grade: prologue.Proven, Part: fragment(fn.name)})
	}
	return l
}
