package symbols

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"slices"

	"github.com/clewdbg/clew/internal/unwind/cfi"
	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/internal/unwind/lsda"
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// Layout implements [codemodel.WholeImage].
func (m *modelled) Layout() *codemodel.Layout {
	l := &codemodel.Layout{Code: m.elf.CodeRanges(), Exceptions: m.elf.File.Section(".gcc_except_table") != nil}
	if s := m.elf.File.Section(".gcc_except_table"); s != nil && m.frames == nil && s.Size < maxData {
		if data, err := s.Data(); err == nil { // else call-frame information describes landing pads too
			l.Areas = lsda.Areas(data)
		}
	}
	add := func(addr uint64, source codemodel.Source, part bool) {
		if addr != 0 {
			l.Known = append(l.Known, codemodel.Start{Addr: addr, Source: source, Grade: prologue.Proven, Part: part})
		}
	}
	for _, fn := range m.file.functions().all {
		add(fn.start, codemodel.Symbol, fragment(fn.name))
	}
	if t := m.file.GoTable(); t != nil {
		for i := range t.Len() {
			if fn, ok := t.At(i); ok {
				add(fn.Entry, codemodel.Symbol, false)
			}
		}
	}
	if m.frames != nil {
		for fde := range m.frames.All() {
			add(fde.Start, codemodel.Frame, m.isPart(&fde))
		}
	}
	if !m.elf.Relocatable() {
		add(m.elf.Entry, codemodel.Entry, false)
	}
	d := dynamic{file: m.elf.File, tags: make(map[elf.DynTag]uint64)}
	d.readTags()
	add(d.tags[elf.DT_INIT], codemodel.Entry, false)
	add(d.tags[elf.DT_FINI], codemodel.Entry, false)
	for _, f := range m.resolvers {
		add(f, codemodel.Entry, false)
	}
	m.pointers(l, add)
	return l
}

// pointers takes what the image's data points to: the loader calls what its arrays have.
func (m *modelled) pointers(l *codemodel.Layout, add func(uint64, codemodel.Source, bool)) {
	code, arrays := unwind.NewRangeSet(l.Code...), m.arrays()
	take := func(at, to uint64) {
		switch {
		case !code.Contains(to):
		case slices.ContainsFunc(arrays, func(r unwind.Range) bool { return r.Contains(at) }):
			add(to, codemodel.Entry, false)
		default:
			l.Pointers = append(l.Pointers, codemodel.Reference{At: at, To: to})
		}
	}
	for _, w := range m.relative {
		take(w.at, w.value)
	}
	if m.elf.Type != elf.ET_EXEC {
		return
	}
	left := uint64(maxData)
	for _, s := range m.elf.Sections { // linked for one place: pointers have no relocations
		if s.Type == elf.SHT_NOBITS || s.Flags&elf.SHF_ALLOC == 0 || s.Flags&elf.SHF_EXECINSTR != 0 || s.Size > left {
			continue
		}
		left -= s.Size
		data, err := s.Data()
		for at := s.Addr; err == nil && len(data) >= wordSize; at, data = at+wordSize, data[wordSize:] {
			take(at, m.elf.ByteOrder.Uint64(data))
		}
	}
}

// maxData bounds the data of an image that is searched for pointers, in bytes.
const (
	maxData  = 64 << 20
	wordSize = 8
)

// arrays are where functions are listed that the loader calls.
func (m *modelled) arrays() (out []unwind.Range) {
	for _, s := range m.elf.Sections {
		switch s.Type {
		case elf.SHT_INIT_ARRAY, elf.SHT_FINI_ARRAY, elf.SHT_PREINIT_ARRAY:
			out = append(out, unwind.Range{Start: s.Addr, End: s.Addr + s.Size})
		}
	}
	return out
}

// word is a pointer to the image itself, as the loader fills it in.
type word struct{ at, value uint64 }

// relocate reads the pointers that the loader fills in: slots that lead into the file, slots by
// name, words with addresses, and functions that choose others.
func (m *modelled) relocate() {
	m.slots, m.names = make(map[uint64]uint64), pltSlots(m.elf.File)
	own := ownSymbols(m.elf.File)
	for r := range relocations(m.elf.File) {
		value := uint64(0)
		if r.symbol > 0 && int(r.symbol) <= len(own) {
			value = own[r.symbol-1]
		}
		switch r.means {
		case fillsSlot:
			if value != 0 {
				m.slots[r.at] = value
			}
		case fillsBase:
			m.relative = append(m.relative, word{r.at, r.addend})
		case fillsSymbol:
			if value != 0 {
				m.relative = append(m.relative, word{r.at, value + r.addend})
			}
		case fillsChosen:
			m.resolvers = append(m.resolvers, r.addend)
		}
	}
	slices.SortFunc(m.relative, func(a, b word) int { return cmp.Compare(a.at, b.at) })
}

// fill writes the words that the loader fills in into data that is at an address.
func (m *modelled) fill(addr uint64, data []byte) {
	i, _ := slices.BinarySearchFunc(m.relative, addr, func(w word, addr uint64) int { return cmp.Compare(w.at, addr) })
	for ; i < len(m.relative); i++ {
		off := m.relative[i].at - addr
		if len(data) < wordSize || off > uint64(len(data)-wordSize) {
			return
		}
		binary.LittleEndian.PutUint64(data[off:], m.relative[i].value)
	}
}

// isConstant reports whether a place never changes once the image is loaded.
func (m *modelled) isConstant(p *elf.Prog, addr uint64, n int) bool {
	if p.Flags&elf.PF_W == 0 {
		return true
	}
	for _, r := range m.elf.Progs {
		if r.Type == elf.PT_GNU_RELRO && addr >= r.Vaddr && addr+uint64(n) <= r.Vaddr+r.Memsz {
			return true
		}
	}
	// Tools that cut sections out lose the header.
	s := m.elf.File.Section(".data.rel.ro")
	return s != nil && addr >= s.Addr && addr+uint64(n) <= s.Addr+s.Size
}

// isPart reports whether an FDE is about code that no call enters.
func (m *modelled) isPart(fde *cfi.FDE) bool {
	row, err := m.frames.Row(fde, fde.Start)
	if err != nil {
		return true
	}
	atEntry := row.Rule()
	return atEntry.CFA != rule.Entry(m.elf.Arch()).CFA
}
