package delve

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
)

// What entries name lies in other sections, and any number of them may name the same: Delve reads it for each, and keeps
// a copy of each name. reads counts these bytes.
type reads struct {
	texts, lineTexts       texts  // .debug_str, .debug_line_str
	offsets, ranges, lists []byte // .debug_str_offsets, .debug_ranges, .debug_rnglists
	order                  binary.ByteOrder
	base                   bases // of the unit
	spent, allowed         uint64
	longest                uint64 // text of the entry
	blank                  bool   // the text that was read last, if any was, is empty
	root                   uint64 // what the unit's first entry costs
}

// bases are where a unit's offsets count from (DWARF 5, section 7.26 to 7.28).
type bases struct{ offsets, lists uint64 }

// readsAnyFile is how many bytes a file may have Delve read in this way, and readsPerByte how many more for each that
// is stored of it. Of compressed files of g++ it reads 15 for each, of others 5 at most.
const (
	readsAnyFile = 512 << 20
	readsPerByte = 64
)

// overspentError says that entries name too much.
type overspentError struct{ allowed uint64 }

// Error says what is too much.
func (e *overspentError) Error() string {
	return fmt.Sprintf("it has Delve read more than %d MiB of names, lists and units again and again", e.allowed>>20)
}

func newReads(f *elf.File, stored uint64) reads {
	section := func(name string) []byte {
		data, _ := godwarf.GetDebugSectionElf(f, name) // Delve cannot read it either
		return data
	}
	names := make(chan texts, 1)
	go func() { names <- newTexts(section("str")) }() // it is large
	r := reads{
		lineTexts: newTexts(section("line_str")), offsets: section("str_offsets"),
		ranges: section("ranges"), lists: section("rnglists"), order: f.ByteOrder, allowed: readsAnyFile + readsPerByte*stored,
	}
	r.texts = <-names
	return r
}

// spend counts bytes.
func (r *reads) spend(n uint64) { r.spent += min(n, math.MaxUint64>>8) }

// over says whether it has been too much.
func (r *reads) over() error {
	if r.spent > r.allowed {
		return &overspentError{r.allowed}
	}
	return nil
}

// text counts a text of .debug_str.
func (r *reads) text(at uint64) { r.shown(&r.texts, at) }

// shown counts a text.
func (r *reads) shown(t *texts, at uint64) {
	r.blank = at >= uint64(len(t.data)) || t.data[at] == 0
	r.count(t.size(at))
}

func (r *reads) count(size uint64) {
	r.longest = max(r.longest, size)
	r.spend(size)
}

// indexed counts a text by its index in the unit's part of .debug_str_offsets, of entries of so many bytes.
func (r *reads) indexed(index uint64, size int) {
	if at, ok := r.entry(r.offsets, r.base.offsets, index, size); ok {
		r.text(at)
	}
}

// entry reads an entry of a table of offsets.
func (r *reads) entry(table []byte, base, index uint64, size int) (uint64, bool) {
	at := base + index*uint64(size)
	if index > uint64(len(table)) || at > uint64(len(table)) {
		return 0, false
	}
	d := die{data: table[at:], order: r.order}
	v := d.number(size)
	return v, !d.bad
}

// ranged counts the list of ranges at an offset, which Delve merges with those of the entries around it.
func (r *reads) ranged(at uint64, u *unit, depth int) {
	var n uint64
	if u.version >= 5 && r.lists != nil {
		n = listed(r.lists, at, u.addr, r.allowed-min(r.spent, r.allowed))
	} else {
		n = paired(r.ranges, at, u.addr)
	}
	const shallow, soon = 16, 4 // what is read of the first entry is soon forgotten
	r.spend(pairSize*n*uint64(1+depth/shallow) + r.root/soon)
}

// pairSize is what Delve takes for an entry of a list, in bytes: a list that grows is copied.
const pairSize = 32

// listed is how many entries a list of .debug_rnglists has (DWARF 5, section 7.25), at most as many as count.
func listed(lists []byte, at uint64, addr int, most uint64) (n uint64) {
	if at > uint64(len(lists)) {
		return 0
	}
	d := die{data: lists[at:]}
	for ; n <= most/pairSize; n++ {
		switch d.number(1) {
		case 0: // end_of_list, or of the section
			return n
		case 1: // base_addressx
			d.leb()
		case 2, 3, 4: // startx_endx, startx_length, offset_pair
			d.leb()
			d.leb()
		case 5: // base_address
			d.skip(uint64(addr))
		case 6: // start_end
			d.skip(uint64(2 * addr))
		case 7: // start_length
			d.skip(uint64(addr))
			d.leb()
		}
	}
	return n
}

// paired is how many entries a list of .debug_ranges has (DWARF 4, section 2.17.3).
func paired(ranges []byte, at uint64, addr int) (n uint64) {
	size := 2 * addr
	if at > uint64(len(ranges)) || size == 0 {
		return 0
	}
	if addr == 8 {
		for rest := ranges[at:]; len(rest) >= size && binary.LittleEndian.Uint64(rest)|binary.LittleEndian.Uint64(rest[8:]) != 0; rest = rest[size:] {
			n++
		}
		return n
	}
	var end [2 * 8]byte
	for rest := ranges[at:]; len(rest) >= size && size <= len(end) && !bytes.Equal(rest[:size], end[:size]); rest = rest[size:] {
		n++
	}
	return n
}

// texts knows how long the texts of a section are, about.
type texts struct {
	data []byte
	long []uint64 // a bit for each block: no text ends in it
}

// textBlock is the size of a block, in bytes, and shortText what is counted for a text that ends in its own or the next one,
// as nearly all do: to look at each would take as long as all else that is checked.
const (
	textBlock = 64
	shortText = 32
)

func newTexts(data []byte) texts {
	t := texts{data, make([]uint64, len(data)/textBlock/64+1)}
	for at := 0; at+textBlock <= len(data); at += textBlock {
		if bytes.IndexByte(data[at:at+textBlock], 0) < 0 {
			n := at / textBlock
			t.long[n/64] |= 1 << (n % 64)
		}
	}
	return t
}

// size is how long the text at an offset is, in bytes.
func (t *texts) size(at uint64) uint64 {
	first := at/textBlock + 1
	next := first
	for next/64 < uint64(len(t.long)) {
		n := bits.TrailingZeros64(^(t.long[next/64] >> (next % 64)))
		if next += uint64(n); n == 0 || next%64 != 0 {
			break
		}
	}
	if next == first || bytes.IndexByte(t.data[at:textBlock*first], 0) >= 0 {
		return shortText
	}
	return shortText + textBlock*(next-first)
}
