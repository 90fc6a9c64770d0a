package delve

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// named are the abbreviations of the tests below, in order of their codes.
var named = []byte{
	1, 0x11, 1, 0x03, 0x08, 0, 0, // compile_unit with children: name string
	2, 0x2e, 0, 0x03, 0x0e, 0, 0, // subprogram: name strp
	3, 0x2e, 0, 0x03, 0x26, 0, 0, // subprogram: name strx2
	4, 0x2e, 0, 0x55, 0x17, 0, 0, // subprogram: ranges sec_offset
	5, 0x11, 0, 0x10, 0x17, 0, 0, // compile_unit: stmt_list sec_offset
	6, 0x34, 0, 0x31, 0x10, 0, 0, // variable: abstract_origin ref_addr
	7, 0x16, 0, 0x49, 0x10, 0, 0, // typedef: type ref_addr
	8, 0x2e, 0, 0x55, 0x23, 0, 0, // subprogram: ranges rnglistx
	9, 0x11, 1, 0x03, 0x26, 0x72, 0x17, 0x74, 0x17, 0, 0, // compile_unit with children: name strx2, str_offsets_base, rnglists_base
	10, 0x0f, 0, 0x49, 0x10, 0, 0, // pointer_type: type ref_addr
	0,
}

// unit5 is a unit of version 5, whose entries begin at its offset 12.
func unit5(entries ...byte) []byte {
	out := binary.LittleEndian.AppendUint32(nil, uint32(8+len(entries)))
	out = append(out, 5, 0, 1, 8, 0, 0, 0, 0)
	return append(out, entries...)
}

// TestReads: names and lists that are long together, a long first entry, a line table that all units have, entries in a circle
// are refused, and the same are not where they are short or fewer.
func TestReads(t *testing.T) {
	const n, mib = 1000, 1 << 20
	long := bytes.Repeat([]byte{'n'}, mib)
	refer := func(code byte, to ...uint32) (out []byte) {
		for _, at := range to {
			out = binary.LittleEndian.AppendUint32(append(out, code), at)
		}
		return out
	}
	offsets := binary.LittleEndian.AppendUint32(make([]byte, 12), 1) // the base is 8
	pairs := append(bytes.Repeat([]byte{1}, mib), make([]byte, 16)...)
	lists := append(append([]byte{4, 0, 0, 0}, bytes.Repeat([]byte{4, 1, 1}, mib/3)...), 0)
	root := []byte{9, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0}
	for _, c := range []struct {
		name, want string
		info       []byte
		reads      reads
	}{
		{"names", "again and again", unitOf(join([]byte{1, 0}, bytes.Repeat([]byte{2, 9, 0, 0, 0}, n), []byte{0})...), reads{texts: newTexts(long)}},
		{"one name", "", unitOf(join([]byte{1, 0}, []byte{2, 9, 0, 0, 0, 0})...), reads{texts: newTexts(long)}},
		{"short names", "", unitOf(join([]byte{1, 0}, bytes.Repeat([]byte{2, 9, 0, 0, 0}, n), []byte{0})...), reads{texts: newTexts(make([]byte, mib))}},
		{"names by index", "again and again", unit5(join(root, bytes.Repeat([]byte{3, 1, 0}, n), []byte{0})...), reads{texts: newTexts(long), offsets: offsets}},
		{"pairs", "again and again", unitOf(join([]byte{1, 0}, bytes.Repeat([]byte{4, 8, 0, 0, 0}, n), []byte{0})...), reads{ranges: pairs}},
		{"one list of pairs", "no line table", unitOf(join([]byte{1, 0}, []byte{4, 8, 0, 0, 0, 0})...), reads{ranges: pairs}},
		{"end of the pairs", "no line table", unitOf(join([]byte{1, 0}, bytes.Repeat([]byte{4, 0, 0, 16, 0}, n), []byte{0})...), reads{ranges: pairs}},
		{"list", "again and again", unit5(join([]byte{1, 0}, bytes.Repeat([]byte{4, 4, 0, 0, 0}, n), []byte{0})...), reads{lists: lists}},
		{"list by index", "again and again", unit5(join(root[:7], []byte{0, 0, 0, 0}, bytes.Repeat([]byte{8, 0}, n), []byte{0})...), reads{lists: lists}},
		{"end of the list", "no line table", unit5(join([]byte{1, 0}, bytes.Repeat([]byte{4, 1, 0, 0, 0}, n), []byte{0})...), reads{lists: lists}},
		{"first entry", "again and again", unitOf(join([]byte{1}, long, []byte{0}, bytes.Repeat([]byte{4, 0, 0, 0, 0}, n), []byte{0})...), reads{}},
		{"line table", "again and again", bytes.Repeat(unitOf(5, 10, 0, 0, 0), n), reads{}},
		{"one line table", "", unitOf(5, 10, 0, 0, 0), reads{}},
		{"origins in a circle", "in a circle", unitOf(join([]byte{1, 0}, refer(6, 18, 13), []byte{0})...), reads{}},
		{"origin of itself", "in a circle", unitOf(join([]byte{1, 0}, refer(6, 13), []byte{0})...), reads{}},
		{"origins", "", unitOf(join([]byte{1, 0}, refer(6, 18, 23, 28), refer(10, 13), []byte{0})...), reads{}},
		{"types in a circle", "in a circle", unitOf(join([]byte{1, 0}, refer(7, 18, 13), []byte{0})...), reads{}},
		{"pointer to its typedef", "", unitOf(join([]byte{1, 0}, refer(7, 18), refer(10, 13), []byte{0})...), reads{}},
	} {
		in := infoSections{c.info, named, binary.LittleEndian, 100, c.reads}
		in.reads.order, in.reads.allowed = binary.LittleEndian, 100*mib
		tables := map[uint64]lineTable{0: {}, 10: {files: mib / fileSize}}
		err := checkInfo(in, tables, 20)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	chain := slices.Concat([]byte{1, 0})
	for i := range uint32(n) { // each leads to the next one
		chain = append(chain, refer(7, 13+5*(i+1))...)
	}
	in := infoSections{unitOf(append(chain, 0)...), named, binary.LittleEndian, 100, reads{allowed: mib}}
	if err := checkInfo(in, nil, 20); err == nil || !strings.Contains(err.Error(), "too far") {
		t.Errorf("a chain of %d: %v", n, err)
	}
}

// TestTexts: lengths of texts are exact to two blocks.
func TestTexts(t *testing.T) {
	var data []byte
	for n := range 700 {
		data = append(append(data, bytes.Repeat([]byte{'n'}, n)...), 0)
	}
	data = append(data, make([]byte, textBlock)...) // what does not end does not count
	all := newTexts(data)
	for at := range data {
		want := uint64(bytes.IndexByte(data[at:], 0))
		if got := all.size(uint64(at)); got > want+2*textBlock || want > got+2*textBlock {
			t.Fatalf("%d, want %d", got, want)
		}
	}
	if got := all.size(1 << 40); got != shortText {
		t.Errorf("behind the end: %d", got)
	}
}
