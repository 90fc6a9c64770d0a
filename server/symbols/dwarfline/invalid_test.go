package dwarfline

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// parts are a file's sections, as a test changes them.
type parts map[string][]byte

func (p parts) source() *Source {
	return &Source{Order: binary.LittleEndian, Section: func(name string) (Section, bool) {
		data, ok := p[name]
		return Section{Size: uint64(len(data)), At: bytes.NewReader(data)}, ok
	}}
}

var partNames = []string{".debug_info", ".debug_abbrev", ".debug_line", ".debug_str", ".debug_line_str", ".debug_aranges", ".debug_rnglists", ".debug_ranges"}

// twoUnits returns a program of two units, and an address in outer, which has two
// calls inlined, and one in other, which has one.
func twoUnits(t testing.TB, version string) (p parts, outer, other uint64) {
	t.Helper()
	prog := build(t, testneed.Tool(t, "gcc"), "chain.c", "other.c", "-O2", version)
	f := elfOf(t, prog)
	p = make(parts)
	for _, name := range partNames {
		if s := f.Section(name); s != nil {
			data, err := s.Data()
			if err != nil {
				t.Fatal(err)
			}
			p[name] = data
		}
	}
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	table := New(p.source())
	for _, s := range symbols {
		for a := s.Value; a < s.Value+s.Size; a++ {
			calls, _ := table.Calls(a)
			switch {
			case s.Name == "outer" && len(calls) == 3:
				outer = a
			case s.Name == "other" && len(calls) == 2:
				other = a
			}
		}
	}
	if outer == 0 || other == 0 {
		t.Fatalf("no address with inlined calls: outer %#x, other %#x", outer, other)
	}
	return p, outer, other
}

// TestChain compares one chain with the source.
func TestChain(t *testing.T) {
	for _, version := range []string{"-gdwarf-2", "-gdwarf-3", "-gdwarf-4", "-gdwarf-5"} {
		p, outer, _ := twoUnits(t, version)
		calls, err := New(p.source()).Calls(outer)
		if err != nil {
			t.Fatal(err)
		}
		want := []struct {
			name string
			line []int
		}{{"innermost", []int{6, 7}}, {"middle", []int{11}}, {"outer", []int{15}}}
		for i, c := range calls {
			if c.Name != want[i].name || !slices.Contains(want[i].line, c.Line) || !strings.HasSuffix(c.File, "/chain.c") || c.Inlined != (i < 2) {
				t.Errorf("%s: frame %d is %+v, want %+v", version, i, c, want[i])
			}
		}
	}
}

// TestInvalidUnitCostsItself damages the unit of outer: that of other stays.
func TestInvalidUnitCostsItself(t *testing.T) {
	whole, outer, other := twoUnits(t, "-gdwarf-5")
	length := binary.LittleEndian.Uint32(whole[".debug_info"])
	for name, damage := range map[string]func(p parts){
		"version":        func(p parts) { p[".debug_info"][4] = 9 },
		"address size":   func(p parts) { p[".debug_info"][7] = 3 },
		"abbreviations":  func(p parts) { copy(p[".debug_info"][8:], "\xff\xff\xff\x7f") },
		"entries":        func(p parts) { fill(p[".debug_info"][12:4+length], 0xff) },
		"zeros":          func(p parts) { fill(p[".debug_info"][12:4+length], 0) },
		"last entries":   func(p parts) { fill(p[".debug_info"][length-100:4+length], 0xee) },
		"aranges":        func(p parts) { fill(p[".debug_aranges"], 0xff) },
		"without ranges": func(p parts) { delete(p, ".debug_aranges"); p[".debug_info"][4] = 9 },
	} {
		t.Run(name, func(t *testing.T) {
			p := make(parts)
			for name, data := range whole {
				p[name] = bytes.Clone(data)
			}
			damage(p)
			table := New(p.source())
			if calls, err := table.Calls(other); err != nil || len(calls) != 2 {
				t.Errorf("other: %+v, %v", calls, err)
			}
			for range 3 {
				if calls, err := table.Calls(outer); (err == nil) == (calls == nil) {
					t.Errorf("outer: %+v, %v", calls, err)
				}
			}
			if problems := table.Problems(); len(problems) != 1 {
				t.Errorf("problems, not one: %v", problems)
			}
		})
	}
}

func fill(data []byte, with byte) {
	for i := range data {
		data[i] = with
	}
}

// TestInvalidLines damages the line table: names and calls stay, without places.
func TestInvalidLines(t *testing.T) {
	p, outer, _ := twoUnits(t, "-gdwarf-5")
	fill(p[".debug_line"][12:], 0xff)
	table := New(p.source())
	calls, err := table.Calls(outer)
	if err != nil || len(calls) != 3 || calls[2].Name != "outer" {
		t.Fatalf("%+v, %v", calls, err)
	}
	for _, c := range calls {
		if c.Line != 0 || c.File != "" {
			t.Errorf("a place from an invalid table: %+v", c)
		}
	}
	if problems := table.Problems(); len(problems) != 1 {
		t.Errorf("problems: %v", problems)
	}
}

// synthetic is a unit of DWARF 4 with one function, whose name is given by entries
// that refer to each other.
func synthetic(name string, origins ...byte) parts {
	abbrev := []byte{
		1, 0x11, 1, 0x11, 0x01, 0x12, 0x06, 0, 0, // unit: low_pc, high_pc
		2, 0x2e, 0, 0x11, 0x01, 0x12, 0x06, 0x31, 0x11, 0, 0, // function: low_pc, high_pc, abstract_origin
		3, 0x2e, 0, 0x31, 0x11, 0, 0, // function: abstract_origin
		4, 0x2e, 0, 0x03, 0x08, 0, 0, // function: name
		0,
	}
	code := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(nil, 0x1000), 0x100)
	body := append([]byte{1}, code...)
	body = append(append(append(body, 2), code...), origins[0])
	for _, o := range origins[1:] {
		body = append(body, 3, o)
	}
	body = append(append(append(body, 4), name...), 0, 0)
	info := binary.LittleEndian.AppendUint32(nil, uint32(7+len(body)))
	info = append(append(info, 4, 0, 0, 0, 0, 0, 8), body...)
	return parts{".debug_info": info, ".debug_abbrev": abbrev}
}

// TestNames follows references to a name, up to a limit, and cuts a long one.
func TestNames(t *testing.T) {
	const first = 11 + 13 + 14 // the offset of the entry behind the function
	chain := func(n int) (out []byte) {
		for i := range n {
			out = append(out, byte(first+2*i))
		}
		return out
	}
	long := strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		parts parts
		name  string
		fails error
	}{
		{synthetic("f", chain(1)...), "f", nil},
		{synthetic("f", chain(10)...), "f", nil},
		{synthetic("f", chain(40)...), "", errHops},
		{synthetic("f", first, first), "", errHops},
		{synthetic("f", first, 11+13), "", errHops},
		{synthetic(long, chain(1)...), long[:maxName] + "…", nil},
	} {
		table := New(c.parts.source())
		for range 2 {
			calls, err := table.Calls(0x1080)
			if err != nil || len(calls) != 1 || calls[0].Name != c.name {
				t.Errorf("%.60v, %v; want %.20s", calls, err, c.name)
			}
		}
		p := table.Problems()
		if c.fails == nil && len(p) != 0 || c.fails != nil && (len(p) != 1 || !errors.Is(p[0], c.fails)) {
			t.Errorf("problems: %v, want %v", p, c.fails)
		}
	}
}

// scoped is a unit of C++ with one function, f, which is declared in class C in another
// function, which is declared at the offset of in the unit. There is a function top.
func scoped(top string, of byte) parts {
	abbrev := []byte{
		1, 0x11, 1, 0x13, 0x0b, 0x11, 0x01, 0x12, 0x06, 0, 0, // unit: language, low_pc, high_pc
		2, 0x2e, 0, 0x11, 0x01, 0x12, 0x06, 0x47, 0x11, 0, 0, // function: low_pc, high_pc, specification
		3, 0x2e, 1, 0x47, 0x11, 0, 0, // function: specification
		4, 0x02, 1, 0x03, 0x08, 0, 0, // class: name
		5, 0x2e, 0, 0x03, 0x08, 0, 0, // function: name
		0,
	}
	code := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(nil, 0x1000), 0x100)
	body := append([]byte{1, 4}, code...)
	body = append(append(append(body, 2), code...), scopedMember)
	body = append(append(body, 3, of, 4), "C\x00\x05f\x00\x00\x00\x05"...)
	body = append(append(body, top...), 0, 0)
	info := binary.LittleEndian.AppendUint32(nil, uint32(7+len(body)))
	info = append(append(info, 4, 0, 0, 0, 0, 0, 8), body...)
	return parts{".debug_info": info, ".debug_abbrev": abbrev}
}

// Offsets in the unit of scoped.
const (
	scopedMember = 11 + 14 + 14 + 2 + 3
	scopedTop    = scopedMember + 5
)

// TestInvalidScopes asks for names whose scopes contain themselves, or are too long:
// the name stays.
func TestInvalidScopes(t *testing.T) {
	for _, c := range []struct {
		top   string
		of    byte
		scope string
		fails error
	}{
		{"top", scopedTop, "top::C::", nil},
		{"top", scopedMember, "", errScopes}, // the class lies in its own function
		{"top", 11, "", errNoRef},            // a unit has no name
		{strings.Repeat("x", 1<<20), scopedTop, "…::C::", nil},
	} {
		table := New(scoped(c.top, c.of).source())
		calls, err := table.Calls(0x1080)
		if err != nil || len(calls) != 1 || calls[0].Name != "f" || calls[0].Scope != c.scope {
			t.Errorf("%.60v, %v; want %.20s", calls, err, c.scope)
		}
		p := table.Problems()
		if c.fails == nil && len(p) != 0 || c.fails != nil && (len(p) != 1 || !errors.Is(p[0], c.fails)) {
			t.Errorf("problems: %v, want %v", p, c.fails)
		}
	}
}

// TestOverlappingUnits asks for an address that two units claim: the range that begins
// last is of the one without a function there.
func TestOverlappingUnits(t *testing.T) {
	p := synthetic("f", 11+13+14)
	abbrevs := append(bytes.TrimSuffix(p[".debug_abbrev"], []byte{0}), 5, 0x11, 0, 0x11, 0x01, 0x12, 0x06, 0, 0, 0)
	body := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64([]byte{5}, 0x1070), 0x40)
	info := binary.LittleEndian.AppendUint32(p[".debug_info"], uint32(7+len(body)))
	p[".debug_abbrev"], p[".debug_info"] = abbrevs, append(append(info, 4, 0, 0, 0, 0, 0, 8), body...)
	if calls, err := New(p.source()).Calls(0x1080); err != nil || calls[0].Name != "f" {
		t.Errorf("%+v, %v", calls, err)
	}
	if _, err := New(p.source()).Calls(0x2000); !errors.Is(err, ErrUnknown) {
		t.Errorf("an address in no unit: %v", err)
	}
}

// TestSameFunctionTwice asks for an address that two units have the same function at:
// the linker has kept the first, as units are in the order of objects.
func TestSameFunctionTwice(t *testing.T) {
	p := synthetic("first", 11+13+14)
	p[".debug_info"] = append(p[".debug_info"], synthetic("second", 11+13+14)[".debug_info"]...)
	if calls, err := New(p.source()).Calls(0x1080); err != nil || calls[0].Name != "first" {
		t.Errorf("%+v, %v", calls, err)
	}
}

// FuzzCalls looks up addresses in whatever the sections hold.
func FuzzCalls(f *testing.F) {
	for _, version := range []string{"-gdwarf-4", "-gdwarf-5"} {
		p, outer, other := twoUnits(f, version)
		get := func(name string) []byte { return p[name] }
		f.Add(get(partNames[0]), get(partNames[1]), get(partNames[2]), get(partNames[3]), get(partNames[4]), get(partNames[5]), get(partNames[6]), get(partNames[7]), outer, other)
	}
	for _, origins := range [][]byte{{38}, {38, 38}} {
		p := synthetic("f", origins...)
		f.Add(p[".debug_info"], p[".debug_abbrev"], []byte(nil), []byte(nil), []byte(nil), []byte(nil), []byte(nil), []byte(nil), uint64(0x1000), uint64(0x10ff))
	}
	for _, of := range []byte{scopedMember, scopedTop} {
		p := scoped("top", of)
		f.Add(p[".debug_info"], p[".debug_abbrev"], []byte(nil), []byte(nil), []byte(nil), []byte(nil), []byte(nil), []byte(nil), uint64(0x1000), uint64(0x10ff))
	}
	f.Fuzz(func(t *testing.T, info, abbrev, line, str, lineStr, aranges, rnglists, ranges []byte, a, b uint64) {
		p := make(parts)
		for i, data := range [][]byte{info, abbrev, line, str, lineStr, aranges, rnglists, ranges} {
			if len(data) > 0 {
				p[partNames[i]] = data
			}
		}
		table := New(p.source())
		for _, addr := range []uint64{a, b, a} {
			calls, err := table.Calls(addr)
			if (err == nil) == (len(calls) == 0) {
				t.Errorf("%#x: %+v and %v", addr, calls, err)
			}
			for i, c := range calls {
				if c.Inlined != (i+1 < len(calls)) || len(c.Name) > maxName+3 || len(c.Scope) > maxName || c.Line < 0 || c.Column < 0 {
					t.Errorf("%#x: %+v", addr, calls)
				}
			}
		}
		searchAll(t, table, a)
		if len(table.Problems()) > maxProblems {
			t.Error("too many problems")
		}
	})
}

// searchAll looks for functions and lines in every way.
func searchAll(t *testing.T, table *Table, addr uint64) {
	for _, name := range []string{"", "outer", "innermost", "f"} {
		found, _ := table.Named(name, func(c *Call) bool { return true })
		for i := range found {
			if f := &found[i]; len(f.Ranges) == 0 || !f.Contains(f.Entry) || name != "" && !strings.HasPrefix(f.Name, name) && f.Name != "" {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
	for i, f := range table.FunctionsAt(addr) {
		if f.Inlined == (len(table.FunctionsAt(addr)) == i+1) {
			t.Errorf("%#x: %+v", addr, f)
		}
	}
	for _, r := range table.RowsIn(addr, addr+100) {
		if r.End < r.Addr || r.End <= addr && r.Addr != r.End {
			t.Errorf("%#x: %+v", addr, r)
		}
	}
	if at, found := table.Line("chain.c", func(string) bool { return true }, 6); len(found) > 0 && at < 6 {
		t.Errorf("line %d: %+v", at, found)
	}
	for range table.Files {
		continue
	}
}

// FuzzIndex reads indexes of packages.
func FuzzIndex(f *testing.F) {
	header := func(n ...uint32) (out []byte) {
		for _, v := range n {
			out = binary.LittleEndian.AppendUint32(out, v)
		}
		return out
	}
	for _, version := range []uint32{2, 5} {
		f.Add(header(version, 2, 1, 2, 7, 0, 0, 0, 1, 0, packInfo, packAbbrev, 10, 20, 30, 40))
		f.Add(header(version, 1, 1, 1, 7, 0, 9, packInfo, 10))
		f.Add(header(version, 1, 1<<31, 1<<31))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p := parts{".debug_cu_index": data}
		rows, err := readIndex(New(p.source()).section(".debug_cu_index"), binary.LittleEndian)
		if err == nil && len(data) < 16 || len(rows) > len(data)/12 {
			t.Errorf("%d rows of %d bytes, %v", len(rows), len(data), err)
		}
	})
}
