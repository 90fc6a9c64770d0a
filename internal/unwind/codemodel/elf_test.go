package codemodel_test

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/cfi"
	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// image is an ELF file as the model sees it.
type image struct {
	arch     unwind.Arch
	segments []segment
	slots    map[uint64]slot
	starts   []codemodel.Piece
	code     unwind.RangeSet
	table    *cfi.Table
}

type segment struct {
	addr     uint64
	data     []byte
	constant bool
}

type slot struct {
	target uint64
	name   string
}

func (m *image) read(addr uint64, n int, constant bool) []byte {
	for _, s := range m.segments {
		if addr >= s.addr && addr < s.addr+uint64(len(s.data)) && (s.constant || !constant) {
			data := s.data[addr-s.addr:]
			return data[:min(n, len(data))]
		}
	}
	return nil
}

func (m *image) Code(addr uint64, n int) []byte { return m.read(addr, n, false) }

func (m *image) Data(addr uint64, n int) []byte {
	if data := m.read(addr, n, true); len(data) == n {
		return data
	}
	return nil
}

func (m *image) Slot(addr uint64) (uint64, string) { s := m.slots[addr]; return s.target, s.name }

func (m *image) Bounds(addr uint64) (codemodel.Piece, bool) {
	i, ok := slices.BinarySearchFunc(m.starts, addr, func(p codemodel.Piece, addr uint64) int { return cmp.Compare(p.Start, addr) })
	if !ok {
		i--
	}
	if i < 0 || addr >= m.starts[i].End {
		return codemodel.Piece{}, false
	}
	return m.starts[i], true
}

// open reads a file. tables: starts of FDEs count.
func open(t testing.TB, path string, tables bool) *image {
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m := &image{arch: unwind.AMD64, slots: map[uint64]slot{}}
	if f.Machine == elf.EM_AARCH64 {
		m.arch = unwind.ARM64
	}
	var code []unwind.Range
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		data := make([]byte, p.Filesz)
		if _, err := p.ReadAt(data, 0); err != nil {
			t.Fatal(err)
		}
		m.segments = append(m.segments, segment{p.Vaddr, data, p.Flags&elf.PF_W == 0})
	}
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 {
			code = append(code, unwind.Range{Start: s.Addr, End: s.Addr + s.Size})
		}
		if s.Name == ".data.rel.ro" {
			data, err := s.Data()
			if err != nil {
				t.Fatal(err)
			}
			m.segments = append(m.segments, segment{s.Addr, data, true})
		}
	}
	m.code = unwind.NewRangeSet(code...)
	m.relocate(f)
	m.symbols(f, tables)
	// Of two that begin together the larger counts.
	slices.SortStableFunc(m.starts, func(a, b codemodel.Piece) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End))
	})
	m.starts = slices.CompactFunc(m.starts, func(a, b codemodel.Piece) bool { return a.Start == b.Start })
	return m
}

// relocate applies relative relocations to what is constant, and notes slots.
func (m *image) relocate(f *elf.File) {
	dynamic, _ := f.DynamicSymbols()
	for _, s := range f.Sections {
		if s.Type != elf.SHT_RELA || s.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		data, _ := s.Data()
		for ; len(data) >= 24; data = data[24:] {
			at, info, addend := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:]), binary.LittleEndian.Uint64(data[16:])
			switch elf.R_TYPE64(info) {
			case uint32(elf.R_X86_64_RELATIVE), uint32(elf.R_AARCH64_RELATIVE):
				if d := m.read(at, 8, true); len(d) == 8 {
					binary.LittleEndian.PutUint64(d, addend)
				}
				m.slots[at] = slot{target: addend}
			case uint32(elf.R_X86_64_JMP_SLOT), uint32(elf.R_X86_64_GLOB_DAT), uint32(elf.R_AARCH64_JUMP_SLOT), uint32(elf.R_AARCH64_GLOB_DAT):
				if n := int(info>>32) - 1; n >= 0 && n < len(dynamic) {
					if sym := dynamic[n]; sym.Section != elf.SHN_UNDEF {
						m.slots[at] = slot{target: sym.Value}
					} else {
						m.slots[at] = slot{name: sym.Name}
					}
				}
			}
		}
	}
}

func (m *image) symbols(f *elf.File, tables bool) {
	all, _ := f.Symbols()
	more, _ := f.DynamicSymbols()
	for _, s := range append(all, more...) {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Section != elf.SHN_UNDEF && m.code.Contains(s.Value) {
			m.starts = append(m.starts, codemodel.Piece{Start: s.Value, End: s.Value + s.Size, Part: strings.Contains(s.Name, ".cold")})
		}
	}
	if s := f.Section(".eh_frame"); s != nil {
		data, _ := s.Data()
		m.table = cfi.New(cfi.Section{Name: s.Name, Addr: s.Addr, Data: data}, cfi.Options{Arch: m.arch, Code: m.code})
	}
	if m.table == nil || !tables {
		return
	}
	for fde := range m.table.All() {
		row, err := m.table.Row(&fde, fde.Start)
		part := err != nil
		if !part {
			r := row.Rule()
			part = r.CFA != rule.Entry(m.arch).CFA
		}
		m.starts = append(m.starts, codemodel.Piece{Start: fde.Start, End: fde.End, Part: part})
	}
}

// isFunction reports whether a symbol says that a function begins at an address.
func (m *image) isFunction(addr uint64) bool {
	return slices.ContainsFunc(m.starts, func(s codemodel.Piece) bool { return s.Start == addr && !s.Part })
}
