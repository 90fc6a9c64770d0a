package mutated

import (
	"math/rand/v2"
	"slices"

	"github.com/clewdbg/clew/integration/internal/tablefield"
)

// field is a number in a table of a file.
type field = tablefield.Field

// part is a table: its numbers by what they mean, and what of it can be repeated.
type part struct {
	name     string
	area     area
	header   int // where its section header is, 0 for none
	meanings []string
	fields   map[string][]field
	entries  []area
}

func (p *part) add(meaning string, f field) {
	if p.fields == nil {
		p.fields = map[string][]field{}
	}
	if p.fields[meaning] == nil {
		p.meanings = append(p.meanings, meaning)
	}
	p.fields[meaning] = append(p.fields[meaning], f)
}

// byMeaning is the input with tables that are damaged by what their numbers mean.
func (in input) byMeaning() input {
	in.parts = slices.DeleteFunc(partsOf(in.data), func(p part) bool { return len(p.meanings) == 0 })
	return in
}

// harmless are tables that are loaded with a program, and that it does not read.
var harmless = []string{".eh_frame", ".eh_frame_hdr", ".sframe", ".note.gnu.build-id", "section headers"}

// unread leaves out tables that the program reads itself: it runs as before.
func (in input) unread() input {
	end := len(in.notLoaded().whole)
	in.parts = slices.DeleteFunc(slices.Clone(in.parts), func(p part) bool {
		return p.area.from < end && !slices.Contains(harmless, p.name)
	})
	return in
}

// changeMeanings changes up to six numbers, most of them of one table, and now and then repeats a part of one.
func (in input) changeMeanings(rng *rand.Rand) []byte {
	data := slices.Clone(in.data)
	p := &in.parts[rng.IntN(len(in.parts))]
	for range 1 + rng.IntN(6) {
		if rng.IntN(4) == 0 {
			p = &in.parts[rng.IntN(len(in.parts))]
		}
		p.change(rng, data)
	}
	if rng.IntN(6) == 0 {
		data = p.grow(rng, data)
	}
	return data
}

// change changes a number, or all numbers that mean the same.
func (p *part) change(rng *rand.Rand, data []byte) {
	same := p.fields[p.meanings[rng.IntN(len(p.meanings))]]
	f := same[rng.IntN(len(same))]
	v := p.value(rng, data, f, same)
	if rng.IntN(10) > 0 {
		f.Put(data, v)
		return
	}
	for _, f := range same {
		f.Put(data, v)
	}
}

// value is another value for a number: near it, that of another, a place of the table, a size, or one at which
// arithmetic goes wrong.
func (p *part) value(rng *rand.Rand, data []byte, f field, same []field) uint64 {
	was := f.Get(data)
	switch rng.IntN(8) {
	case 0, 1:
		return was + 1 + rng.Uint64N(8)
	case 2:
		return was - 1 - rng.Uint64N(8)
	case 3:
		return same[rng.IntN(len(same))].Get(data)
	case 4:
		places := p.fields[p.meanings[rng.IntN(len(p.meanings))]]
		return uint64(places[rng.IntN(len(places))].Off - p.area.from)
	case 5:
		return uint64(p.area.to-p.area.from) - rng.Uint64N(16)
	case 6:
		return was << (1 + rng.IntN(16))
	}
	return numbers[rng.IntN(len(numbers))]
}

// maxGrown bounds what a table grows to, in bytes.
const maxGrown = 4 << 20

// grow repeats an entry many times: the table, which has a section header, then lies at the end of the file.
func (p *part) grow(rng *rand.Rand, data []byte) []byte {
	if p.header == 0 || len(p.entries) == 0 {
		return data
	}
	e := p.entries[rng.IntN(len(p.entries))]
	times := min([]int{2, 50, 3000, 200000}[rng.IntN(4)], maxGrown/max(1, e.to-e.from))
	grown := slices.Concat(data[p.area.from:e.from], slices.Repeat(data[e.from:e.to], times), data[e.to:p.area.to])
	field{Off: p.header + shOffset, Size: 8}.Put(data, uint64(len(data)))
	field{Off: p.header + shSize, Size: 8}.Put(data, uint64(len(grown)))
	return append(data, grown...)
}

// cursor reads a table, and remembers where its numbers are.
type cursor struct {
	data    []byte // the whole file
	at, end int
	part    *part
}

func (c *cursor) more(n int) bool { return n >= 0 && c.at+n <= c.end && c.at+n >= c.at }

// number reads a number of so many bytes; behind the end it is 0, and the cursor at the end.
func (c *cursor) number(size int, meaning string) int {
	if !c.more(size) {
		c.at = c.end
		return 0
	}
	f := field{Off: c.at, Size: size}
	c.part.add(meaning, f)
	c.at += size
	return int(f.Get(c.data))
}

// leb reads a number of seven bits a byte.
func (c *cursor) leb(meaning string) int {
	for n := 1; c.more(n) && n < 10; n++ {
		if c.data[c.at+n-1]&0x80 == 0 {
			f := field{Off: c.at, Size: n, LEB: true}
			c.part.add(meaning, f)
			c.at += n
			return int(f.Get(c.data))
		}
	}
	c.at = c.end
	return 0
}

func (c *cursor) skip(n int) {
	if !c.more(n) {
		n = c.end - c.at
	}
	c.at += n
}

// text skips a text with the NUL at its end.
func (c *cursor) text() string {
	n := slices.Index(c.data[c.at:c.end], 0)
	if n < 0 {
		n = c.end - c.at - 1
	}
	if n < 0 {
		return ""
	}
	text := string(c.data[c.at : c.at+n])
	c.at += n + 1
	return text
}

// words reads the rest as numbers of a size.
func (c *cursor) words(size int, meaning string) {
	for c.more(size) {
		c.number(size, meaning)
	}
	c.at = c.end
}

// sized reads a length, as DWARF writes them (DWARF 5, section 7.4), and returns a cursor for what it counts.
func (c *cursor) sized() (inner cursor, offset int) {
	n, offset := c.number(4, "length"), 4
	if n == 0xffffffff {
		n, offset = c.number(8, "length"), 8
	}
	if !c.more(n) {
		n = c.end - c.at
	}
	inner = *c
	inner.end = c.at + n
	c.at = inner.end
	return inner, offset
}
