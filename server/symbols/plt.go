package symbols

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"strings"

	"github.com/clewdbg/clew/internal/elffile"
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
)

// pltFunctions returns the entries of an amd64 or arm64 image's procedure linkage tables as
// functions: they have no symbols.
//
// Situation: a thread is stopped in an entry, which keeps no frame pointer, and
// the library has no call-frame information for it (ld writes some, but not where
// none of its inputs has any). Example: a call of getppid in a stripped library
// that was built with -fno-asynchronous-unwind-tables. The code behind
// the first jump of an entry is reached through the slot that the jump reads, as long
// as the symbol is not bound: it is an entry of its own, or its simulation from the
// start would not get there. Test: TestPLT.
func pltFunctions(f *elf.File) (out []function) {
	entries := map[elf.Machine]func(*elf.Section, []byte, map[uint64]string) []function{elf.EM_X86_64: pltEntries, elf.EM_AARCH64: pltEntriesARM64}[f.Machine]
	if entries == nil || f.ByteOrder != binary.LittleEndian {
		return nil
	}
	var slots map[uint64]string
	for _, s := range f.Sections {
		if !strings.HasPrefix(s.Name, ".plt") || s.Type != elf.SHT_PROGBITS || s.Flags&elf.SHF_EXECINSTR == 0 || s.Size > maxPLT {
			continue
		}
		code, err := s.Data()
		if err != nil {
			continue
		}
		if slots == nil {
			slots = pltSlots(f)
		}
		out = append(out, entries(s, code, slots)...)
	}
	return out
}

// maxPLT is far more than any table takes, in bytes.
const maxPLT = 16 << 20

// The pieces of entries (System V ABI, AMD64 supplement, "Procedure Linkage
// Table", and the variant for indirect branch tracking).
var (
	pltPush     = []byte{0xff, 0x35} // push slot(%rip): only the first entry of a table
	pltJump     = []byte{0xff, 0x25} // jmp *slot(%rip)
	pltEndbr    = []byte{0xf3, 0x0f, 0x1e, 0xfa}
	pltJumpSize = 6
)

// pltEntries lists the entries of one table.
func pltEntries(s *elf.Section, code []byte, slots map[uint64]string) (out []function) {
	size := 16
	if s.Entsize == 8 {
		size = 8
	}
	add := func(from, to int, name string) {
		out = append(out, function{start: s.Addr + uint64(from), end: s.Addr + uint64(to), name: name, sized: true})
	}
	for at := 0; at+size <= len(code); at += size {
		entry := code[at : at+size]
		if bytes.HasPrefix(entry, pltPush) {
			add(at, at+size, ".plt")
			continue
		}
		jump := 0
		if bytes.HasPrefix(entry, pltEndbr) {
			jump = len(pltEndbr)
		}
		if jump < size && entry[jump] == 0xf2 { // bnd
			jump++
		}
		end := jump + pltJumpSize
		if end > size || !bytes.HasPrefix(entry[jump:], pltJump) {
			add(at, at+size, ".plt") // push index; jmp to the first
			continue
		}
		next := s.Addr + uint64(at+end)
		name := cmp.Or(slots[next+uint64(int64(int32(binary.LittleEndian.Uint32(entry[jump+2:]))))], "?")
		if prologue.Padding(unwind.AMD64, entry[end:]) == size-end { // no code at all
			end = size
		}
		add(at, at+end, name+"@plt")
		if end < size {
			add(at+end, at+size, name+"@plt")
		}
	}
	return out
}

// pltSlots names the slots of the global offset table by their relocations.
func pltSlots(f *elf.File) map[uint64]string {
	var symbols []string
	for _, s := range elffile.Symbols(f, elf.SHT_DYNSYM) {
		symbols = append(symbols, s.Name)
	}
	slots := make(map[uint64]string)
	for r := range relocations(f) {
		if r.means == fillsSlot && r.symbol > 0 && int(r.symbol) <= len(symbols) {
			slots[r.at] = symbols[r.symbol-1]
		}
	}
	return slots
}
