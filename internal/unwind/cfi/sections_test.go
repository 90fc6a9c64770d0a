package cfi_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/cfi"
	"github.com/clewdbg/clew/internal/unwind/cfi/cfitest"
	"github.com/clewdbg/clew/unwind"
)

const bias = 0x7f00_0000_0000

// TestForms reads one function from every form of section.
func TestForms(t *testing.T) {
	type form struct {
		name string
		b    cfitest.Builder
		cie  cfitest.CIE
		fde  func(b *cfitest.Builder) [][]byte
		opts cfi.Options
	}
	absolute := func(b *cfitest.Builder) [][]byte { return [][]byte{b.Quad(code), b.Quad(size)} }
	withData := func(b *cfitest.Builder) [][]byte { return append(absolute(b), []byte{3, 1, 2, 3}) }
	rel4 := func(b *cfitest.Builder) [][]byte {
		return [][]byte{b.Long4(code + bias - b.Next()), b.Long4(size), {0}}
	}
	eh := cfitest.Builder{Addr: table + bias}
	debug := cfitest.Builder{Kind: cfi.DebugFrame}
	forms := []form{
		{"eh_frame, version 1, absolute", eh, cfitest.CIE{}, absolute, cfi.Options{}},
		{"eh_frame, version 3", eh, cfitest.CIE{Version: 3}, absolute, cfi.Options{}},
		{"eh_frame, version 4", eh, cfitest.CIE{Version: 4}, absolute, cfi.Options{}},
		{"eh_frame, 64-bit", cfitest.Builder{Addr: table + bias, Long: true}, cfitest.CIE{}, absolute, cfi.Options{}},
		{"eh", eh, cfitest.CIE{Aug: "eh"}, absolute, cfi.Options{}},
		{"z", eh, cfitest.CIE{Aug: "z"}, withData, cfi.Options{}},
		{"zS", eh, cfitest.CIE{Aug: "zS"}, withData, cfi.Options{}},
		{"zB, zG", eh, cfitest.CIE{Aug: "zBG"}, withData, cfi.Options{}},
		{"an unknown letter after R", eh, cfitest.CIE{Aug: "zR!", AugData: []byte{0x1b, 7}}, rel4, cfi.Options{}},
		{"zR, pcrel sdata4", eh, cfitest.CIE{Aug: "zR", AugData: []byte{0x1b}}, rel4, cfi.Options{}},
		{"zPLR, pcrel sdata4", eh, cfitest.CIE{Aug: "zPLR", AugData: []byte{0x9b, 1, 2, 3, 4, 0x1b, 0x1b}}, rel4, cfi.Options{}},
		{"zRP, aligned personality", eh, cfitest.CIE{Aug: "zRP", AugData: slices.Concat([]byte{0x1b, 0x50}, make([]byte, 15))}, rel4, cfi.Options{}},
		{"zP, no personality", eh, cfitest.CIE{Aug: "zPR", AugData: []byte{0xff, 0x1b}}, rel4, cfi.Options{}},
		{"pcrel udata2", cfitest.Builder{Addr: code + bias - 0x100}, cfitest.CIE{Aug: "zR", AugData: []byte{0x12}},
			func(b *cfitest.Builder) [][]byte {
				return [][]byte{{byte(code + bias - b.Next()), byte((code + bias - b.Next()) >> 8)}, {0, 0x10}, {0}}
			}, cfi.Options{}},
		{"pcrel sdata8", eh, cfitest.CIE{Aug: "zR", AugData: []byte{0x1c}},
			func(b *cfitest.Builder) [][]byte { return [][]byte{b.Quad(code + bias - b.Next()), b.Quad(size), {0}} }, cfi.Options{}},
		{"uleb128", eh, cfitest.CIE{Aug: "zR", AugData: []byte{0x01}},
			func(b *cfitest.Builder) [][]byte { return [][]byte{cfitest.ULEB(code), cfitest.ULEB(size), {0}} }, cfi.Options{}},
		{"pcrel sleb128", eh, cfitest.CIE{Aug: "zR", AugData: []byte{0x19}},
			func(b *cfitest.Builder) [][]byte {
				return [][]byte{cfitest.SLEB(int64(code + bias - b.Next())), cfitest.SLEB(size), {0}}
			}, cfi.Options{}},
		{"datarel", eh, cfitest.CIE{Aug: "zR", AugData: []byte{0x3b}},
			func(b *cfitest.Builder) [][]byte { return [][]byte{b.Long4(0x50), b.Long4(size), {0}} }, cfi.Options{DataBase: code + bias - 0x50}},
		{"aligned", eh, cfitest.CIE{Aug: "zR", AugData: []byte{0x50}},
			func(b *cfitest.Builder) [][]byte {
				return [][]byte{make([]byte, -b.Next()&7), b.Quad(code), b.Quad(size), {0}}
			}, cfi.Options{}},
		{"debug_frame, version 1", debug, cfitest.CIE{}, absolute, cfi.Options{}},
		{"debug_frame, version 3", debug, cfitest.CIE{Version: 3}, absolute, cfi.Options{}},
		{"debug_frame, version 4", debug, cfitest.CIE{Version: 4}, absolute, cfi.Options{}},
		{"debug_frame, 64-bit", cfitest.Builder{Kind: cfi.DebugFrame, Long: true}, cfitest.CIE{Version: 4}, absolute, cfi.Options{}},
		{"big-endian", cfitest.Builder{Kind: cfi.DebugFrame, Order: binary.BigEndian}, cfitest.CIE{Version: 4}, absolute,
			cfi.Options{Order: binary.BigEndian}},
	}
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			f.cie.RA, f.cie.Code = 16, opening
			b := &f.b
			cie := b.CIE(f.cie)
			at := b.FDE(cie, append(f.fde(b), []byte{0x41, 0x0e, 24})...)
			f.opts.Arch, f.opts.Bias = unwind.AMD64, bias
			table := cfi.New(b.Section(), f.opts)
			row := rowAt(t, table, code+bias+5)
			if got := row.String(); got != "cfa=rsp+24; ra=[cfa-8]; fp=unchanged" || row.Start != code+bias+1 || row.End != code+bias+size {
				t.Errorf("%s for [%#x, %#x)", got, row.Start, row.End)
			}
			if row.Signal != strings.Contains(f.name, "zS") {
				t.Errorf("signal %v", row.Signal)
			}
			if first, n := table.Problems(); n != 0 || table.Len() != 1 {
				t.Errorf("%d FDEs, %d problems %v", table.Len(), n, first)
			}
			if fde, err := table.At(uint64(at)); err != nil || fde.Start != code+bias {
				t.Errorf("FDE at %#x: %+v, %v", at, fde, err)
			}
			for _, offset := range []uint64{uint64(cie), uint64(at) + 1, 1 << 40} {
				if fde, err := table.At(offset); err == nil {
					t.Errorf("FDE at %#x: %+v", offset, fde)
				}
			}
		})
	}
}

// TestRefusedCIE: FDEs of a CIE that cannot be used are left out, others not.
func TestRefusedCIE(t *testing.T) {
	tests := []struct {
		cie  cfitest.CIE
		want string
	}{
		{cfitest.CIE{Version: 2}, "version 2 is not known"},
		{cfitest.CIE{Version: 5}, "version 5 is not known"},
		{cfitest.CIE{Aug: "armcc+"}, `augmentation "armcc+" is not known`},
		{cfitest.CIE{Aug: "z!R", AugData: []byte{0x1b}}, `augmentation "z!R" is not known`},
		{cfitest.CIE{Aug: "zR"}, "cut off"},
		{cfitest.CIE{Aug: "zR", AugData: []byte{0x80}}, "indirect"},
		{cfitest.CIE{Aug: "zR", AugData: []byte{0x9b}}, "indirect"},
		{cfitest.CIE{Aug: "zR", AugData: []byte{0xff}}, "left out"},
		{cfitest.CIE{Aug: "zR", AugData: []byte{0x05}}, "no known format"},
		{cfitest.CIE{Aug: "zR", AugData: []byte{0x2b}}, "0x2b is not known"},
		{cfitest.CIE{Aug: "zR", AugData: []byte{0x4b}}, "0x4b is not known"},
		{cfitest.CIE{Aug: "zR", AugData: []byte{0x5b}}, "0x5b is not known"},
		{cfitest.CIE{Aug: "zR", AugData: []byte{0x3b}}, "relative to data"},
		{cfitest.CIE{RA: 60}, "return address column 60"},
		{cfitest.CIE{Code: []byte{0xc3}}, "nothing to restore"},
		{cfitest.CIE{Code: []byte{0x41}}, "no locations"},
		{cfitest.CIE{Code: make([]byte, 2000)}, "bytes of instructions"},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			b := cfitest.Builder{Addr: table}
			bad := b.CIE(tt.cie)
			good := b.CIE(cfitest.CIE{RA: 16, Code: opening})
			b.FDE(bad, b.Quad(code), b.Quad(size), []byte{0})
			b.FDE(good, b.Quad(code+size), b.Quad(size))
			table := cfi.New(b.Section(), cfi.Options{Arch: unwind.AMD64})
			if got := table.Ranges(); !slices.Equal(got, unwind.RangeSet{{Start: code + size, End: code + 2*size}}) {
				t.Errorf("covers %#x", got)
			}
			first, n := table.Problems()
			if n != 1 || !strings.Contains(first[0].Error(), tt.want) {
				t.Errorf("%d problems %v", n, first)
			}
		})
	}
}

// fdes makes .eh_frame of functions that differ in their CFA's offset, 16 for
// the first, 24 for the second and so on.
func fdes(ranges ...unwind.Range) (b cfitest.Builder, offsets []int) {
	b.Addr = table
	cie := b.CIE(cfitest.CIE{RA: 16, Code: opening})
	for i, r := range ranges {
		offsets = append(offsets, b.FDE(cie, b.Quad(r.Start), b.Quad(r.End-r.Start), []byte{0x0e, byte(16 + 8*i)}))
	}
	return b, offsets
}

// TestOverlap: of FDEs that overlap, the one that starts last counts, and of
// those that start together the first.
func TestOverlap(t *testing.T) {
	r := func(start, end uint64) unwind.Range { return unwind.Range{Start: code + start, End: code + end} }
	b, _ := fdes(r(0, 0x100), r(0x10, 0x20), r(0x18, 0x40), r(0x10, 0x80), r(0x200, 0x300), r(0x300, 0x310), r(0x2f0, 0x2f8))
	b.End()
	tbl := cfi.New(b.Section(), cfi.Options{Arch: unwind.AMD64})
	want := func(off uint64) int { // by the definition, one address at a time
		best := -1
		ranges := []unwind.Range{r(0, 0x100), r(0x10, 0x20), r(0x18, 0x40), r(0x10, 0x80), r(0x200, 0x300), r(0x300, 0x310), r(0x2f0, 0x2f8)}
		for i, x := range ranges {
			if x.Contains(code+off) && (best < 0 || x.Start > ranges[best].Start) {
				best = i
			}
		}
		return best
	}
	for off := range uint64(0x320) {
		f, ok := tbl.Find(code + off)
		i := want(off)
		if ok != (i >= 0) {
			t.Fatalf("+%#x: found %v, want FDE %d", off, ok, i)
		}
		if !ok {
			continue
		}
		row, err := tbl.Row(&f, code+off)
		if err != nil || row.CFA.Offset != int64(16+8*i) {
			t.Fatalf("+%#x: %v, %v, want FDE %d", off, row, err, i)
		}
	}
	if got := tbl.Ranges(); !slices.Equal(got, unwind.RangeSet{r(0, 0x100), r(0x200, 0x310)}) {
		t.Errorf("covers %#x", got)
	}
	if _, ok := tbl.Find(code - 1); ok {
		t.Error("found something before the code")
	}
	// Each that another one lies in is told; one byte is a signal trampoline's way.
	if first, n := tbl.Problems(); n != 4 || !strings.Contains(first[0].Error(), "overlaps") {
		t.Errorf("%d problems: %v", n, first)
	}
	b, _ = fdes(r(0, 0x100), r(0xff, 0x110))
	b.End()
	if first, n := cfi.New(b.Section(), cfi.Options{Arch: unwind.AMD64}).Problems(); n != 0 {
		t.Errorf("one byte: %v", first)
	}
}

// TestDiscarded: functions that the linker dropped are no problem and cover
// nothing; functions outside the image's code are one.
func TestDiscarded(t *testing.T) {
	b := cfitest.Builder{Kind: cfi.DebugFrame}
	cie := b.CIE(cfitest.CIE{RA: 16, Code: opening})
	for _, start := range []uint64{0, ^uint64(0), code, 0x99_0000, code + 0x800} {
		b.FDE(cie, b.Quad(start), b.Quad(size))
	}
	b.FDE(cie, b.Quad(code), b.Quad(0)) // nothing
	b.FDE(cie, b.Quad(code), b.Quad(^uint64(0)))
	tbl := cfi.New(b.Section(), cfi.Options{Arch: unwind.AMD64, Bias: bias, Code: unwind.RangeSet{{Start: bias + code, End: bias + code + size}}})
	if got := tbl.Ranges(); !slices.Equal(got, unwind.RangeSet{{Start: bias + code, End: bias + code + size}}) {
		t.Errorf("covers %#x", got)
	}
	first, n := tbl.Problems()
	got := fmt.Sprint(first)
	if n != 3 || strings.Count(got, "outside the image's code") != 2 || strings.Count(got, "beyond the address space") != 1 {
		t.Errorf("%d problems %v", n, first)
	}
}

// header makes .eh_frame_hdr at an address, its table relative to itself.
func header(addr, frame uint64, rows ...[2]uint64) cfi.Section {
	p := []byte{1, 0x1b, 0x03, 0x3b}
	p = binary.LittleEndian.AppendUint32(p, uint32(frame-addr-4))
	p = binary.LittleEndian.AppendUint32(p, uint32(len(rows)))
	for _, row := range rows {
		p = binary.LittleEndian.AppendUint32(p, uint32(row[0]-addr))
		p = binary.LittleEndian.AppendUint32(p, uint32(row[1]-addr))
	}
	return cfi.Section{Name: ".eh_frame_hdr", Addr: addr, Data: p}
}

// TestHeader: the header's table is believed where the FDE agrees; where it
// does not, where it is not sorted or cut off, the section itself is read.
func TestHeader(t *testing.T) {
	const hdr = table - 0x1000
	a, c := unwind.Range{Start: code, End: code + 0x10}, unwind.Range{Start: code + 0x10, End: code + 0x20}
	b, offsets := fdes(a, c)
	b.End()
	rows := [][2]uint64{{a.Start, table + uint64(offsets[0])}, {c.Start, table + uint64(offsets[1])}}
	good := header(hdr, table, rows...)
	cut := good
	cut.Data = cut.Data[:len(cut.Data)-1]
	long := header(hdr, table, rows...)
	long.Data[8] = 0xff
	version := header(hdr, table, rows...)
	version.Data[0] = 2
	encoding := header(hdr, table, rows...)
	encoding.Data[3] = 0x01
	for name, h := range map[string]cfi.Section{
		"good":                 good,
		"none":                 {},
		"cut off":              cut,
		"count too high":       long,
		"unknown version":      version,
		"no searchable table":  encoding,
		"not sorted":           header(hdr, table, rows[1], rows[0]),
		"wrong start":          header(hdr, table, [2]uint64{code + 1, rows[0][1]}, rows[1]),
		"wrong FDE":            header(hdr, table, [2]uint64{code, rows[1][1]}, rows[1]),
		"FDE outside":          header(hdr, table, [2]uint64{code, table + 0x9999}, [2]uint64{code + 0x10, table - 0x10}),
		"FDE in the middle":    header(hdr, table, [2]uint64{code, rows[0][1] + 4}, rows[1]),
		"entries missing":      header(hdr, table, rows[0]),
		"a CIE instead":        header(hdr, table, [2]uint64{code, table}, rows[1]),
		"empty":                header(hdr, table),
		"all of it":            {Name: "hdr", Addr: hdr, Data: bytes.Repeat([]byte{0xff}, 64)},
		"a byte of it":         {Name: "hdr", Addr: hdr, Data: []byte{1}},
		"none of the encoding": {Name: "hdr", Addr: hdr, Data: []byte{1, 0xff, 0xff, 0xff}},
	} {
		for _, build := range []bool{false, true} {
			tbl := cfi.New(b.Section(), cfi.Options{Arch: unwind.AMD64, Header: h})
			if build {
				tbl.Len()
			}
			for i, r := range []unwind.Range{a, c} {
				if f, ok := tbl.Find(r.Start + 3); !ok || f.Offset != uint64(offsets[i]) || f.End != r.End {
					t.Errorf("%s, index built %v: FDE %d is %+v, %v", name, build, i, f, ok)
				}
			}
			if f, ok := tbl.Find(c.End); ok {
				t.Errorf("%s: found %+v behind all", name, f)
			}
		}
	}
}

// TestDamagedMiddle: behind a damaged entry the header's table still leads to
// FDEs, and the damage is told.
func TestDamagedMiddle(t *testing.T) {
	const hdr = table - 0x1000
	var ranges []unwind.Range
	for i := range uint64(5) {
		ranges = append(ranges, unwind.Range{Start: code + i*0x10, End: code + i*0x10 + 0x10})
	}
	b, offsets := fdes(ranges...)
	b.End()
	s := b.Section()
	s.Data = slices.Clone(s.Data)
	copy(s.Data[offsets[2]:], []byte{0xf0, 0xff, 0xff, 0xff})
	var rows [][2]uint64
	for i, r := range ranges {
		rows = append(rows, [2]uint64{r.Start, table + uint64(offsets[i])})
	}
	tests := []struct {
		header cfi.Section
		fdes   int
	}{{cfi.Section{}, 2}, {header(hdr, table, rows...), 4}}
	for _, tt := range tests {
		tbl := cfi.New(s, cfi.Options{Arch: unwind.AMD64, Header: tt.header})
		first, n := tbl.Problems()
		if tbl.Len() != tt.fdes || n != 1 || first[0].Offset != uint64(offsets[2]) || !strings.Contains(first[0].Reason, "reserved") {
			t.Errorf("%d FDEs, want %d; %d problems %v", tbl.Len(), tt.fdes, n, first)
		}
	}
}

// TestSplitSegment finds .eh_frame by its header, with what follows it in the
// segment.
func TestSplitSegment(t *testing.T) {
	const hdr = table - 0x100
	r := unwind.Range{Start: code, End: code + 0x10}
	b, offsets := fdes(r)
	h := header(hdr, table, [2]uint64{r.Start, table + uint64(offsets[0])})
	for name, tail := range map[string][]byte{
		"terminator":    {0, 0, 0, 0, 1, 2, 3, 4, 5},
		"no terminator": bytes.Repeat([]byte{0xee}, 50),
		"nothing":       nil,
	} {
		data := append(slices.Clone(h.Data), make([]byte, 0x100-len(h.Data))...)
		data = append(append(data, b.Bytes()...), tail...)
		head, frame, err := cfi.SplitSegment(hdr, data, nil, unwind.AMD64, 0)
		if err != nil || frame.Addr != table {
			t.Fatalf("%s: %+v, %v", name, frame, err)
		}
		tbl := cfi.New(frame, cfi.Options{Arch: unwind.AMD64, Header: head, OpenEnded: true})
		if first, n := tbl.Problems(); n != 0 || !slices.Equal(tbl.Ranges(), unwind.RangeSet{r}) {
			t.Errorf("%s: covers %#x, problems %v", name, tbl.Ranges(), first)
		}
	}
	// .eh_frame may come first.
	before := append([]byte{1, 2, 3}, b.Bytes()...)
	before = append(before, 0, 0, 0, 0)
	behind := uint64(table + len(before) - 3)
	h = header(behind, table, [2]uint64{r.Start, table + uint64(offsets[0])})
	head, frame, err := cfi.SplitSegment(behind, h.Data, before, unwind.AMD64, 0)
	if err != nil || frame.Addr != table || len(frame.Data) != len(before)-3 {
		t.Fatalf("before the header: %+v, %v", frame, err)
	}
	tbl := cfi.New(frame, cfi.Options{Arch: unwind.AMD64, Header: head, OpenEnded: true})
	if first, n := tbl.Problems(); n != 0 || !slices.Equal(tbl.Ranges(), unwind.RangeSet{r}) {
		t.Errorf("before the header: covers %#x, problems %v", tbl.Ranges(), first)
	}
	if _, frame, err := cfi.SplitSegment(behind, h.Data, before[4:], unwind.AMD64, 0); err == nil {
		t.Errorf("%+v is not all there", frame)
	}
	for name, data := range map[string][]byte{
		"nothing":                nil,
		"garbage":                bytes.Repeat([]byte{0xee}, 50),
		"no address":             {1, 0xff, 0x03, 0x3b, 0, 0, 0, 0},
		"frame before":           header(hdr, hdr-8).Data,
		"frame behind the bytes": header(hdr, hdr+0x1000).Data,
	} {
		if _, frame, err := cfi.SplitSegment(hdr, data, nil, unwind.AMD64, 0); err == nil {
			t.Errorf("%s: %+v", name, frame)
		}
	}
}

// TestTruncated cuts a section off at every byte: what is complete is used, and
// what is cut off is told, unless it is cut between two entries.
func TestTruncated(t *testing.T) {
	var ranges []unwind.Range
	for i := range uint64(4) {
		ranges = append(ranges, unwind.Range{Start: code + i*0x10, End: code + i*0x10 + 0x10})
	}
	b, offsets := fdes(ranges...)
	whole := b.Section()
	ends := append(slices.Clone(offsets), len(whole.Data))
	for n := range len(whole.Data) {
		s := whole
		s.Data = whole.Data[:n:n]
		tbl := cfi.New(s, cfi.Options{Arch: unwind.AMD64})
		want := 0
		for _, end := range ends[1:] {
			if n >= end {
				want++
			}
		}
		_, problems := tbl.Problems()
		between := n == 0 || slices.Contains(ends, n)
		if tbl.Len() != want || (problems == 0) != between {
			t.Errorf("%d bytes: %d FDEs, want %d; %d problems", n, tbl.Len(), want, problems)
		}
	}
}
