package table

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// words makes a section of 32-bit words.
func words(w ...uint32) []byte {
	var out []byte
	for _, v := range w {
		out = binary.LittleEndian.AppendUint32(out, v)
	}
	return out
}

// good is a section with one common encoding, a regular page of code from
// 0x100 and a compressed one from 0x200, which has an encoding of its own; the
// code ends at 0x300. Offsets of the words are in the comments.
func good() []uint32 {
	return []uint32{
		1, 28, 1, 0, 0, 32, 3, // 0: header
		0x0101_0001,     // 28: common
		0x100, 68, 0x70, // 32: index
		0x200, 92, 0x70, // 44
		0x300, 0, 0x70, // 56
		2, 2<<16 | 8, // 68: regular
		0x100, 0x0200_0000, 0x180, 0x0101_0001, // 76
		3, 2<<16 | 12, 1<<16 | 20, // 92: compressed
		0x00_000000, 0x01_000080, // 104
		0x0202_0400, // 112
	}
}

func TestBuilt(t *testing.T) {
	table, err := Parse(words(good()...))
	if err != nil || len(table.Problems()) > 0 {
		t.Fatal(err, table.Problems())
	}
	want := []Entry{{0x100, 0x180, 0x0200_0000}, {0x180, 0x200, 0x0101_0001}, {0x200, 0x280, 0x0101_0001}, {0x280, 0x300, 0x0202_0400}}
	if got := slices.Collect(table.All()); !slices.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
}

// TestBadHeader: nothing of the section can be used.
func TestBadHeader(t *testing.T) {
	for name, change := range map[string]func([]uint32) []uint32{
		"short":           func(w []uint32) []uint32 { return w[:6] },
		"version":         func(w []uint32) []uint32 { w[0] = 2; return w },
		"common":          func(w []uint32) []uint32 { w[2] = 1 << 30; return w },
		"common offset":   func(w []uint32) []uint32 { w[1] = 1<<32 - 1; return w },
		"personalities":   func(w []uint32) []uint32 { w[4] = 1000; return w },
		"index":           func(w []uint32) []uint32 { w[6] = 1<<32 - 1; return w },
		"index elsewhere": func(w []uint32) []uint32 { w[5] = 1 << 20; return w },
	} {
		_, err := Parse(words(change(good())...))
		var e *Error
		if !errors.As(err, &e) || e.Page != -1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBadPages: a page that lies makes a hole and a problem that names page and
// entry; the other page stays.
func TestBadPages(t *testing.T) {
	first, second := []uint32{0x100, 0x180}, []uint32{0x200, 0x280}
	for name, c := range map[string]struct {
		change      func(w []uint32)
		kept        []uint32 // starts of the entries
		page, entry int
		want        string
	}{
		"kind":            {func(w []uint32) { w[17] = 4 }, second, 0, -1, "kind 4"},
		"page outside":    {func(w []uint32) { w[9] = 1 << 20 }, second, 0, -1, "outside the section"},
		"entries outside": {func(w []uint32) { w[18] = 900<<16 | 8 }, second, 0, -1, "do not lie in the section"},
		"no entries":      {func(w []uint32) { w[18] = 8 }, second, 0, -1, "no entries"},
		"disorder":        {func(w []uint32) { w[21] = 0x90 }, second, 0, 1, "out of order"},
		"beyond the end":  {func(w []uint32) { w[21] = 0x280 }, second, 0, 1, "beyond the page's end"},
		"palette":         {func(w []uint32) { w[27] = 0x02_000080 }, first, 1, 1, "encoding 2 of 1 common and 1"},
		"palette outside": {func(w []uint32) { w[25] = 900<<16 | 20 }, first, 1, -1, "do not lie in the section"},
		"overflow":        {func(w []uint32) { w[11], w[14], w[27] = 0xffff_fff0, 0xffff_ffff, 0x01_000080 }, first, 1, 1, "leaves the address space"},
		"first entry":     {func(w []uint32) { w[19] = 0x140 }, []uint32{0x140, 0x180, 0x200, 0x280}, 0, 0, "the first entry starts"},
		"sentinel amid":   {func(w []uint32) { w[12] = 0 }, first, 1, -1, "in the middle"},
		"no sentinel":     {func(w []uint32) { w[15] = 68 }, []uint32{0x100, 0x180, 0x200, 0x280}, 2, -1, "does not end in a sentinel"},
		"index disorder":  {func(w []uint32) { w[11] = 0x80 }, nil, 0, -1, "the index is out of order"},
		"LSDA":            {func(w []uint32) { w[10], w[13], w[16] = 0, 1<<20, 1<<20 }, []uint32{0x100, 0x180, 0x200, 0x280}, 0, -1, "LSDA"},
	} {
		w := good()
		c.change(w)
		table, err := Parse(words(w...))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var starts []uint32
		for e := range table.All() {
			starts = append(starts, e.Start)
			if got, ok := table.Find(e.Start); !ok || got != e {
				t.Errorf("%s: at %#x %x, %v", name, e.Start, got, ok)
			}
		}
		if name == "overflow" {
			starts = slices.DeleteFunc(starts, func(s uint32) bool { return s > 0x200 })
		}
		if !slices.Equal(starts, c.kept) {
			t.Errorf("%s: kept %x, want %x", name, starts, c.kept)
		}
		var e *Error
		if p := table.Problems(); len(p) != 1 || !errors.As(p[0], &e) || e.Page != c.page || e.Entry != c.entry || !strings.Contains(e.Error(), c.want) {
			t.Errorf("%s: problems %v", name, p)
		}
	}
}

// TestRefuse: an encoding that cannot be decoded is told with page, entry and
// offset, and its own reason stays.
func TestRefuse(t *testing.T) {
	w := good()
	w[7], w[20], w[28] = 0x0900_0000, 0x0a00_0000, 0x0202_1c00 // unknown modes; an order of 7 registers
	table, err := Parse(words(w...))
	if err != nil {
		t.Fatal(err)
	}
	want := []Error{{Page: 0, Entry: 0, Offset: 76}, {Page: 0, Entry: 1, Offset: 84}, {Page: 1, Entry: 0, Offset: 104}, {Page: 1, Entry: 1, Offset: 108}}
	for e := range table.All() {
		_, err := table.Decode(unwind.AMD64, e, sub)
		var at *Error
		var why *EncodingError
		if e.Encoding == 0x0101_0001 {
			if err != nil {
				t.Errorf("%x: %v", e, err)
			}
		} else if !errors.As(err, &at) || !errors.As(err, &why) || why.Encoding != e.Encoding || at.Page != want[0].Page || at.Entry != want[0].Entry || at.Offset != want[0].Offset {
			t.Errorf("%x: %v, want %+v", e, err, want[0])
		}
		want = want[1:]
	}
}

// Of two entries at one address the later counts.
func TestZeroLength(t *testing.T) {
	w := good()
	w[21] = 0x100
	table, err := Parse(words(w...))
	if err != nil {
		t.Fatal(err)
	}
	e, ok := table.Find(0x100)
	if !ok || e != (Entry{0x100, 0x200, 0x0101_0001}) {
		t.Errorf("%x, %v", e, ok)
	}
	_, err = table.Decode(unwind.ARM64, e, nil) // where mode 1 is invalid
	var at *Error
	if !errors.As(err, &at) || at.Page != 0 || at.Entry != 1 {
		t.Errorf("%v", err)
	}
}

// Pages that share their entries do not make the table grow with the square of
// the section's size.
func TestSharedPages(t *testing.T) {
	const pages, entries = 20_000, 60_000
	w := []uint32{1, 28, 1, 0, 0, 32, pages + 1, 0x0101_0001}
	page := uint32(len(w)*4 + (pages+1)*12)
	for i := range uint32(pages) {
		w = append(w, i, page, 0)
	}
	w = append(w, 1<<31, 0, 0, 3, entries<<16|12, 0)
	w = append(w, make([]uint32, entries)...)
	table, err := Parse(words(w...))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(table.starts); n > len(w)+2*pages {
		t.Errorf("%d entries of a section of %d words", n, len(w))
	}
}

func FuzzParse(f *testing.F) {
	f.Add(words(good()...))
	f.Add(openLibrary(f, "testdata/x86_64-O2-nofp.dylib").info)
	f.Add(openLibrary(f, "testdata/arm64-O2.dylib").info)
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := Parse(data)
		if err != nil {
			return
		}
		var end uint32
		for e := range table.All() {
			if e.Start < end || e.End <= e.Start {
				t.Fatalf("%x after %#x", e, end)
			}
			end = e.End
			for _, at := range []uint32{e.Start, e.End - 1} {
				if got, ok := table.Find(at); !ok || got != e {
					t.Fatalf("at %#x: %x, %v; want %x", at, got, ok, e)
				}
			}
			for _, arch := range []unwind.Arch{unwind.AMD64, unwind.I386, unwind.ARM64} {
				r, err := e.Encoding.Decode(arch, sub)
				if err != nil {
					continue
				}
				for _, s := range savedBy(&r) {
					if s.Offset >= 0 || s.Offset < -r.CFA.Offset && r.CFA.Register == arch.SP() {
						t.Fatalf("%v %#x: %s", arch, uint32(e.Encoding), describe(arch, r))
					}
				}
			}
		}
	})
}

func BenchmarkFind(b *testing.B) {
	table, err := Parse(openLibrary(b, "testdata/x86_64-O2-nofp.dylib").info)
	if err != nil {
		b.Fatal(err)
	}
	first, last := table.starts[0], table.starts[len(table.starts)-1]
	b.ReportAllocs()
	at := first
	for b.Loop() {
		if _, ok := table.Find(at); !ok {
			b.Fatalf("%#x", at)
		}
		if at += 37; at >= last {
			at = first
		}
	}
}
