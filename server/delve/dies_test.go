package delve

import (
	"bytes"
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-delve/delve/pkg/proc"
)

// abbreviations of the entries that the tests write, in order of their codes.
var abbreviations = []byte{
	1, 0x11, 1, 0x10, 0x17, 0, 0, // compile_unit with children: stmt_list sec_offset
	2, 0x2e, 1, 0, 0, // subprogram with children
	3, 0x3c, 1, 0, 0, // partial_unit with children
	4, 0x3d, 0, 0x18, 0x10, 0, 0, // imported_unit: import ref_addr
	5, 0x0b, 1, 0, 0, // lexical_block with children
	6, 0x2e, 0, 0, 0, // subprogram
	7, 0x0b, 1, 0x01, 0x11, 0, 0, // lexical_block with children: sibling ref1
	8, 0x34, 0, 0x7f, 0x19, 0x7f, 0x19, 0x7f, 0x19, 0x7f, 0x19, 0x7f, 0x19, 0x7f, 0x19, 0, 0, // variable: flag_present
	0,
}

// unitOf is a unit of version 4, whose entries begin at its offset 11.
func unitOf(entries ...byte) []byte {
	out := binary.LittleEndian.AppendUint32(nil, uint32(7+len(entries)))
	out = append(out, 4, 0, 0, 0, 0, 0, 8)
	return append(out, entries...)
}

func imports(offset uint32) []byte { return binary.LittleEndian.AppendUint32([]byte{4}, offset) }

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

var begin = []byte{1, 0, 0, 0, 0} // a unit whose line table is the first

// TestCheckInfo: what ends Delve or keeps it for ever is refused, each with its reason, and what Delve survives is not.
func TestCheckInfo(t *testing.T) {
	for _, c := range []struct {
		name, want string
		info       []byte
	}{
		{"whole", "", unitOf(join(begin, []byte{2, 5, 0, 0, 6, 0})...)},
		{"no entries", "", unitOf()},
		{"end of the unit left out", "", unitOf(join(begin, []byte{2, 0})...)},
		{"function without an end", "a function has no end", unitOf(join(begin, []byte{2, 5, 0})...)},
		{"number without an end", "an entry is damaged", unitOf(join(begin, []byte{0, 0x80})...)},
		{"unknown entry", "an entry is damaged", unitOf(join(begin, []byte{99})...)},
		{"unit in a function", "an entry is damaged", join(unitOf(join(begin, []byte{2, 3, 0, 0, 0})...), unitOf())}, // found by integration/mutated
		{"unit too long", "a header of a unit in .debug_info is damaged", unitOf(1, 0, 0, 0, 0, 0)[:10]},
		{"padding", "a header of a unit in .debug_info is damaged", append(unitOf(), 0, 0, 0, 0)},
		{"line table", "line table does not begin", unitOf(1, 1, 0, 0, 0, 0)},
		{"line table behind the last", "", unitOf(1, 0, 1, 0, 0, 0)},
		{"sibling", "", unitOf(join(begin, []byte{7, 20, 6, 0, 0})...)},
		{"wrong sibling", "does not end where it says", unitOf(join(begin, []byte{7, 19, 6, 0, 0})...)},
		{"sibling before", "", unitOf(join(begin, []byte{7, 3, 6, 0, 0})...)},
		{"import", "", join(unitOf(join(begin, imports(33), []byte{0})...), unitOf(3, 6, 0))},
		{"import of a place in a unit", "imports what is no unit", join(unitOf(join(begin, imports(34), []byte{0})...), unitOf(3, 5, 0, 0))},
		{"import of itself", "imports what is no unit, or itself", join(unitOf(join(begin, imports(33), []byte{0})...), unitOf(join([]byte{3}, imports(33), []byte{0})...))},
		{"too deep", "nested too deep", unitOf(join(begin, bytes.Repeat([]byte{5}, 5000), make([]byte, 5001))...)},
		{"too many functions", "too many entries", unitOf(join(begin, bytes.Repeat([]byte{6}, 3<<20))...)},
		{"units", "", bytes.Repeat(unitOf(), maxUnits)},
		{"too many units", ".debug_info has more than 1048576 units", bytes.Repeat(unitOf(), maxUnits+1)},
		{"too many attributes", "too many entries or attributes", unitOf(join(begin, bytes.Repeat([]byte{8}, 1<<19))...)},
	} {
		err := checkInfo(infoSections{c.info, abbreviations, binary.LittleEndian, 100, reads{allowed: 1 << 30}}, map[uint64]lineTable{0: {}}, 200)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	var units []byte
	for n := range 40 { // each imports the next one twice
		size := 23
		entries := []byte{3}
		if n == 0 {
			size, entries = 27, begin
		}
		next := uint32(len(units) + size + 11)
		units = append(units, unitOf(join(entries, imports(next), imports(next), []byte{0})...)...)
	}
	units = append(units, unitOf(3, 0)...)
	if err := checkInfo(infoSections{units, abbreviations, binary.LittleEndian, 100, reads{allowed: 1 << 30}}, map[uint64]lineTable{0: {}}, 200); err == nil || !strings.Contains(err.Error(), "again and again") {
		t.Errorf("2^40 imports: %v", err)
	}
}

// loads has Delve read the sections, and says whether it panics.
func loads(t *testing.T, f *elf.File, info []byte) (panics bool) {
	t.Helper()
	sections := map[string][]byte{}
	for _, s := range f.Sections {
		if name, ok := strings.CutPrefix(s.Name, ".debug_"); ok {
			data, err := s.Data()
			if err != nil {
				t.Fatal(err)
			}
			sections[name] = data
		}
	}
	d, err := dwarf.New(sections["abbrev"], nil, nil, info, sections["line"], nil, sections["ranges"], sections["str"])
	if err != nil {
		return false // Delve reads no entry
	}
	for _, name := range []string{"addr", "line_str", "str_offsets", "rnglists"} {
		if err := d.AddSection(".debug_"+name, sections[name]); err != nil {
			t.Fatal(err)
		}
	}
	defer func() { panics = recover() != nil }()
	proc.NewBinaryInfo("linux", "amd64", false).LoadImageFromData(d, nil, sections["line"], nil)
	return false
}

// TestInfoThatPanics: debugging information of compilers passes, and none that passes makes Delve panic.
func TestInfoThatPanics(t *testing.T) {
	const source = "static inline int g(int n) { return n * 2; }\nstruct s { int a, b; };\nint f(struct s *s) { return g(s->a) + g(s->b); }\n"
	for _, flags := range [][]string{{"-gdwarf-2"}, {"-gdwarf-4"}, {"-gdwarf-5"}, {"-gdwarf-5", "-fdebug-types-section"}} {
		f, err := elf.Open(buildLibrary(t, "f.c", source, append(flags, "-O2", "-fPIC")...))
		if err != nil {
			t.Fatal(err)
		}
		in := readInfo(f, 0)
		tables, size, err := checkLines(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkInfo(in, tables, size); err != nil || loads(t, f, in.info) {
			t.Fatalf("%v: %v", flags, err)
		}
		rng, passed := rand.New(rand.NewPCG(1, 1)), 0
		for range 5000 {
			damaged := in
			damaged.info = bytes.Clone(in.info)
			for range 1 + rng.IntN(3) {
				damaged.info[rng.IntN(len(damaged.info))] = byte(rng.Uint32())
			}
			if checkInfo(damaged, tables, size) != nil {
				continue
			}
			if passed++; loads(t, f, damaged.info) {
				t.Fatalf("%v: Delve panics for % x", flags, damaged.info)
			}
		}
		if passed < 100 {
			t.Errorf("%v: %d pass", flags, passed)
		}
		_ = f.Close() // it was read
	}
	if info := unitOf(join(begin, []byte{2, 5, 0})...); !panicsWith(t, info) {
		t.Errorf("Delve survives % x", info)
	}
}

// panicsWith has Delve read entries that the test has written.
func panicsWith(t *testing.T, info []byte) (panics bool) {
	t.Helper()
	d, err := dwarf.New(abbreviations, nil, nil, info, nil, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { panics = recover() != nil }()
	proc.NewBinaryInfo("linux", "amd64", false).LoadImageFromData(d, nil, nil, nil)
	return false
}
