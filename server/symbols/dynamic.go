package symbols

import (
	"debug/elf"
)

// maxDynamic bounds the symbols that are read by way of the dynamic section.
const maxDynamic = 1 << 20

// dynamicSymbols reads the dynamic symbols of a file without section headers: the
// dynamic section leads to them, by addresses (gABI, "Dynamic Section"). In
// memory the loader may have added the load bias to those, moved.
func dynamicSymbols(f *elf.File, moved uint64) []elf.Symbol {
	if f.Class != elf.ELFCLASS64 {
		return nil
	}
	d := dynamic{file: f, moved: moved, tags: make(map[elf.DynTag]uint64)}
	if !d.readTags() {
		return nil
	}
	symtab, strtab, names := d.address(elf.DT_SYMTAB), d.address(elf.DT_STRTAB), d.tags[elf.DT_STRSZ]
	count := d.count()
	if symtab == 0 || strtab == 0 || count == 0 || count > maxDynamic || names > maxContents {
		return nil
	}
	table, text := d.read(symtab, elf.Sym64Size*count), d.read(strtab, names)
	var out []elf.Symbol
	for ; len(table) >= elf.Sym64Size; table = table[elf.Sym64Size:] {
		out = append(out, elf.Symbol{
			Name: cString(text, uint64(f.ByteOrder.Uint32(table))), Info: table[4], Other: table[5],
			Section: elf.SectionIndex(f.ByteOrder.Uint16(table[6:])),
			Value:   f.ByteOrder.Uint64(table[8:]), Size: f.ByteOrder.Uint64(table[16:]),
		})
	}
	return out
}

// dynamic is a file's dynamic section.
type dynamic struct {
	file  *elf.File
	moved uint64
	tags  map[elf.DynTag]uint64
}

func (d *dynamic) readTags() bool {
	for _, p := range d.file.Progs {
		if p.Type != elf.PT_DYNAMIC {
			continue
		}
		raw := d.read(p.Vaddr, min(p.Filesz, maxContents))
		for ; len(raw) >= 16; raw = raw[16:] {
			tag := elf.DynTag(d.file.ByteOrder.Uint64(raw))
			if tag == elf.DT_NULL {
				return true
			}
			d.tags[tag] = d.file.ByteOrder.Uint64(raw[8:])
		}
	}
	return len(d.tags) > 0
}

// address returns a tag's address as the linker gave it.
func (d *dynamic) address(tag elf.DynTag) uint64 {
	v := d.tags[tag]
	if d.moved != 0 && v >= d.moved {
		return v - d.moved
	}
	return v
}

// read reads from loaded contents: as much of n bytes as there is.
func (d *dynamic) read(vaddr, n uint64) []byte { return readSegment(d.file, 0, vaddr, n) }

func (d *dynamic) word(vaddr uint64) uint64 {
	if raw := d.read(vaddr, 4); len(raw) == 4 {
		return uint64(d.file.ByteOrder.Uint32(raw))
	}
	return 0
}

// count is the number of symbols, which only the hash tables tell: DT_HASH says
// it, DT_GNU_HASH has chains up to the last one.
func (d *dynamic) count() uint64 {
	if hash := d.address(elf.DT_HASH); hash != 0 {
		return d.word(hash + 4)
	}
	hash := d.address(elf.DT_GNU_HASH)
	if hash == 0 {
		return 0
	}
	buckets, first, bloom := d.word(hash), d.word(hash+4), d.word(hash+8)
	if buckets > maxDynamic || bloom > maxDynamic {
		return 0
	}
	table := hash + 16 + 8*bloom
	last := uint64(0)
	heads := d.read(table, 4*buckets)
	for ; len(heads) >= 4; heads = heads[4:] {
		last = max(last, uint64(d.file.ByteOrder.Uint32(heads)))
	}
	if last < first {
		return first // none is hashed
	}
	const endOfChain = 1
	chains := d.read(table+4*buckets+4*(last-first), 4*maxDynamic)
	for ; len(chains) >= 4; chains = chains[4:] {
		last++
		if d.file.ByteOrder.Uint32(chains)&endOfChain != 0 {
			return last
		}
	}
	return 0
}

// cString returns the text at an offset up to its zero byte, "" where there is none.
func cString(text []byte, at uint64) string {
	for i := at; i < uint64(len(text)); i++ {
		if text[i] == 0 {
			return string(text[at:i])
		}
	}
	return ""
}
