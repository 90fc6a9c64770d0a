package table

import (
	"fmt"
	"sort"
)

// Entry is a run of code with one encoding. Linkers fold neighbours with the
// same encoding: Start need not be the start of the function that an address in
// the run lies in.
type Entry struct {
	// Start and End are offsets from the image's Mach-O header; the code is in
	// [Start, End).
	Start, End uint32
	Encoding   Encoding
}

// Table is a decoded section, as one sorted array. It is immutable and safe for
// concurrent use.
type Table struct {
	// starts and encodings are parallel. An entry reaches to the next one's start;
	// the last is the end of all, and hole marks code without an encoding.
	starts    []uint32
	encodings []Encoding
	// buckets has for each bucketSize bytes of code from starts[0] on the last
	// entry that starts at or before them.
	buckets []uint32

	personalities []uint32
	lsda          []LSDA
	problems      []error

	// The section that it was decoded from, for the place of an entry.
	section section
	header  header
}

// hole is a value that no file may contain: [Parse] refuses it, with a problem.
const hole Encoding = 0xffff_ffff

const (
	bucketShift = 9
	bucketSize  = 1 << bucketShift
	// maxBuckets bounds the allocation for a section that claims much code: 512
	// MiB of code. Beyond it lookup takes more steps.
	maxBuckets = 1 << 20
)

// LSDA is a function with a language-specific data area (exception tables).
type LSDA struct {
	Function uint32 // offset from the image's Mach-O header
	Data     uint32 // likewise
}

// Parse decodes a section. It fails if nothing of it can be used; see
// [Table.Problems] for faults of single pages. The table keeps data, which must
// not change.
func Parse(data []byte) (*Table, error) {
	s := section(data)
	h, err := s.header()
	if err != nil {
		return nil, err
	}
	t := &Table{section: s, header: h}
	for i := range h.personalities.n {
		t.personalities = append(t.personalities, s.word(h.personalities, i, 4, 0))
	}
	if h.index.n == 0 {
		return t, nil
	}
	p := parser{section: s, header: h, table: t, room: len(s)/4 + 2*int(h.index.n)}
	p.pages()
	t.compact()
	t.fillBuckets()
	return t, nil
}

// Find returns the entry for a code offset. It allocates nothing.
func (t *Table) Find(offset uint32) (Entry, bool) {
	if len(t.starts) < 2 || offset < t.starts[0] || offset >= t.starts[len(t.starts)-1] {
		return Entry{}, false
	}
	low, high := 0, len(t.starts)-1 // starts[low] <= offset < starts[high]
	if b := int((offset - t.starts[0]) >> bucketShift); b < len(t.buckets) {
		low = int(t.buckets[b])
		if b+1 < len(t.buckets) {
			high = int(t.buckets[b+1]) + 1
		}
	}
	for high-low > 1 {
		if mid := int(uint(low+high) >> 1); t.starts[mid] <= offset {
			low = mid
		} else {
			high = mid
		}
	}
	return t.entry(low)
}

func (t *Table) entry(i int) (Entry, bool) {
	if t.encodings[i] == hole {
		return Entry{}, false
	}
	return Entry{Start: t.starts[i], End: t.starts[i+1], Encoding: t.encodings[i]}, true
}

// All visits the entries by ascending offset.
func (t *Table) All() func(yield func(Entry) bool) {
	return func(yield func(Entry) bool) {
		for i := 0; i+1 < len(t.starts); i++ {
			if e, ok := t.entry(i); ok && !yield(e) {
				return
			}
		}
	}
}

// Personalities are the offsets, from the Mach-O header, of the pointers to the
// personality routines that encodings name by number.
func (t *Table) Personalities() []uint32 { return t.personalities }

// LSDA returns the language-specific data area of the function at an offset.
func (t *Table) LSDA(function uint32) (LSDA, bool) {
	i := sort.Search(len(t.lsda), func(i int) bool { return t.lsda[i].Function >= function })
	if i < len(t.lsda) && t.lsda[i].Function == function {
		return t.lsda[i], true
	}
	return LSDA{}, false
}

// Problems lists the unusable parts of the section, the first few of many.
func (t *Table) Problems() []error { return t.problems }

// maxProblems bounds the problems that are kept.
const maxProblems = 16

func (t *Table) problem(page, entry int, offset uint64, format string, args ...any) {
	if len(t.problems) < maxProblems {
		t.problems = append(t.problems, &Error{Page: page, Entry: entry, Offset: offset, Reason: fmt.Sprintf(format, args...)})
	}
}

// compact drops entries without length: of two at one address the later counts.
func (t *Table) compact() {
	n := 0
	for i := range t.starts {
		if i+1 < len(t.starts) && t.starts[i] == t.starts[i+1] {
			continue
		}
		t.starts[n], t.encodings[n] = t.starts[i], t.encodings[i]
		n++
	}
	t.starts, t.encodings = t.starts[:n], t.encodings[:n]
}

func (t *Table) fillBuckets() {
	if len(t.starts) < 2 {
		return
	}
	first, last := t.starts[0], t.starts[len(t.starts)-1]
	n := min(int((last-first)>>bucketShift)+1, maxBuckets)
	t.buckets = make([]uint32, n)
	i := 0
	for b := range t.buckets {
		at := uint64(first) + uint64(b)<<bucketShift
		for i+1 < len(t.starts) && uint64(t.starts[i+1]) <= at {
			i++
		}
		t.buckets[b] = uint32(i)
	}
}
