package mutated

import (
	"bytes"
	"debug/elf"
	"debug/macho"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// area is a range of a file's bytes.
type area struct{ from, to int }

// input is something that can be damaged.
type input struct {
	name  string
	data  []byte
	areas []area // where damage is likely to be read
	whole []byte // what stays as it is, before the data
	parts []part // if there are any, the damage is theirs
}

func newInput(name string, data []byte) input {
	return input{name: name, data: data, areas: append(likely(data), area{0, len(data)})}
}

// notLoaded leaves what is loaded of an ELF file as it is: the program runs as before, and does no harm.
func (in input) notLoaded() input {
	end := 0
	if f, err := elf.NewFile(bytes.NewReader(in.data)); err == nil {
		for _, p := range f.Progs {
			if p.Type == elf.PT_LOAD {
				end = max(end, int(p.Off+p.Filesz))
			}
		}
	}
	if f, err := macho.NewFile(bytes.NewReader(in.data)); err == nil {
		end = int(f.Section("__unwind_info").Offset) // behind the code
	}
	out := input{name: in.name, data: in.data[end:], whole: in.data[:end]}
	for _, a := range in.areas {
		if a.from >= end {
			out.areas = append(out.areas, area{a.from - end, a.to - end})
		}
	}
	out.areas = append(out.areas, area{0, len(out.data)})
	return out
}

// likely lists the parts of an ELF file that clew reads, and the headers of any file.
func likely(data []byte) (out []area) {
	out = []area{{0, min(len(data), 4096)}}
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return out
	}
	for _, s := range f.Sections {
		if s.Type == elf.SHT_NOBITS || s.Size == 0 || s.Offset > uint64(len(data)) || s.Size > uint64(len(data))-s.Offset {
			continue
		}
		read := s.Type == elf.SHT_SYMTAB || s.Type == elf.SHT_DYNSYM || s.Type == elf.SHT_NOTE || s.Type == elf.SHT_DYNAMIC
		for _, part := range []string{"debug_", "eh_frame", "sframe", "pclntab", "except", ".text"} {
			read = read || strings.Contains(s.Name, part)
		}
		if read {
			out = append(out, area{int(s.Offset), int(s.Offset + s.Size)})
		}
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_NOTE && p.Off+p.Filesz <= uint64(len(data)) {
			out = append(out, area{int(p.Off), int(p.Off + p.Filesz)})
		}
	}
	if h := int(binary.LittleEndian.Uint64(data[40:])); len(f.Sections) > 0 && h < len(data) { // e_shoff
		out = append(out, area{h, len(data)})
	}
	return out
}

// numbers are those at which arithmetic goes wrong.
var numbers = []uint64{0, 1, 0x7f, 0x80, 0xff, 1 << 15, 1<<16 - 1, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 40, 1<<63 - 1, 1 << 63, 1<<64 - 8, 1<<64 - 1}

// damage returns a copy of the input with up to eight places damaged.
func (in input) damage(rng *rand.Rand, other []byte) []byte {
	if len(in.parts) > 0 {
		return in.changeMeanings(rng)
	}
	data := slices.Clone(in.data)
	for range 1 + rng.IntN(8) {
		a := in.areas[rng.IntN(len(in.areas))]
		if a.to = min(a.to, len(data)); a.from >= a.to {
			continue
		}
		data = once(rng, data, a.from+rng.IntN(a.to-a.from), other)
	}
	return slices.Concat(in.whole, data)
}

// once damages one place.
func once(rng *rand.Rand, data []byte, at int, other []byte) []byte {
	n := min(1+rng.IntN(64), len(data)-at)
	switch rng.IntN(8) {
	case 0, 1:
		data[at] ^= 1 << rng.IntN(8)
	case 2:
		data[at] = byte(rng.Uint32())
	case 3, 4:
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], numbers[rng.IntN(len(numbers))])
		copy(data[at&^3:], word[:1<<rng.IntN(4)])
	case 5:
		return decimal(rng, data, at)
	case 6:
		return slices.Insert(data, at, slices.Repeat(data[at:at+n], 1+rng.IntN(8))...)
	case 7:
		if len(other) > n && rng.IntN(2) == 0 {
			from := rng.IntN(len(other) - n)
			copy(data[at:], other[from:from+n])
			return data
		}
		if rng.IntN(4) == 0 {
			return data[:at]
		}
		return slices.Delete(data, at, at+n)
	}
	return data
}

// decimal replaces the next number in a text. If none is near, it changes a byte instead.
func decimal(rng *rand.Rand, data []byte, at int) []byte {
	isDigit := func(b byte) bool { return '0' <= b && b <= '9' }
	from := at
	for from < len(data) && from < at+100 && !isDigit(data[from]) {
		from++
	}
	to := from
	for to < len(data) && isDigit(data[to]) {
		to++
	}
	if to == from {
		data[at]++
		return data
	}
	number := numbers[rng.IntN(len(numbers))]
	return slices.Replace(data, from, to, []byte(strconv.FormatUint(number, 10))...)
}
