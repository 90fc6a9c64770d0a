package integration

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testneed"
)

// TestBoundedEntries: a library with debugging information of a megabyte or two, of which Delve would read gigabytes:
// names and lists that overlap, a unit's first entry that is read for each function, what all units share, circles. Delve does
// not get it; clew's own reader does. The stack is right by what the program has recorded, and costs no more than
// it may; so does the library alone.
func TestBoundedEntries(t *testing.T) {
	objcopy := testneed.Tool(t, "objcopy")
	v := program.Variant{Name: "linked-O2-entries", CFlags: "-O2 -g0 -fomit-frame-pointer", Linkage: program.Linked}
	p := build(t, v)
	whole, err := os.ReadFile(p.Library)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		sections crafted
		note     string // that the stack has, "": whatever
	}{
		{"names", longNames(), ""},
		{"names by index", indexedNames(), ""},
		{"lists", longLists(), ""},
		{"lists of DWARF 4", longRanges(), ""},
		{"first entry", longRoot(), ""},
		{"one line table", oneLineTable(), ""},
		{"one folder", oneFolder(), ""},
		{"imports", manyImports(), ""},
		{"origins", circle(0x34, 0x31), ""}, // variable, abstract_origin
		{"types", circle(0x16, 0x49), ""},   // typedef, type
		{"units", manyUnits(), ".debug_info: left out: more than 1048576 units"},
		{"rows", manyRows(), "the line table is left out: it has more than 4194304 rows"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := os.Remove(p.Library); err != nil {
				t.Fatal(err)
			}
			write(t, p.Library, c.sections.add(t, objcopy, whole))
			scenario := program.Scenarios[1] // through a callback
			s, cost := measured(func() stopped { return launch(t, p, scenario.Name, scenario.Stop, "--format", "json") })
			s.check(t, v, scenario.Groups)
			cost.check(t)
			if notes := strings.Join(s.stacks(t)[0].Notes, "\n"); c.note != "" && (strings.Count(notes, c.note) != 1 || !strings.Contains(notes, p.Library)) {
				t.Errorf("the notes do not say once what is left out: %q", notes)
			}
			o, cost := measured(func() outcome { return clew(t, "inspect", p.Library) })
			o.want(t, done)
			cost.check(t)
		})
	}
}

// crafted are debug sections by their names behind ".debug_".
type crafted map[string][]byte

// add adds them to a library.
func (c crafted) add(t testing.TB, objcopy string, library []byte) []byte {
	t.Helper()
	dir := t.TempDir()
	var args []string
	for name, content := range c {
		file := filepath.Join(dir, name)
		write(t, file, content)
		args = append(args, "--add-section=.debug_"+name+"="+file)
	}
	slices.Sort(args)
	return withSections(t, objcopy, library, args...)
}

func le16(n int) []byte { return binary.LittleEndian.AppendUint16(nil, uint16(n)) }
func le32(n int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(n)) }
func le64(n int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }

// unit is a unit of .debug_info, of DWARF 4, whose entries begin at its offset 11, or of DWARF 5, at 12
// (DWARF 5, section 7.5.1).
func unit(version int, entries ...[]byte) []byte {
	header := slices.Concat(le16(version), le32(0), []byte{8}) // table of abbreviations, size of an address
	if version == 5 {
		header = slices.Concat(le16(version), []byte{1, 8}, le32(0)) // compile
	}
	body := slices.Concat(entries...)
	return slices.Concat(le32(len(header)+len(body)), header, body)
}

// abbreviations are tags, whether there are children, attributes and forms, each with its number as its code.
func abbreviations(each ...[]byte) []byte {
	var out []byte
	for i, a := range each {
		out = append(append(append(out, byte(i+1)), a...), 0, 0)
	}
	return append(out, 0)
}

// lineTable is one of DWARF 4 without rows, with folders and files.
func lineTable(folders, files []byte) []byte { return lineProgram(folders, files, nil) }

func lineProgram(folders, files, program []byte) []byte {
	header := slices.Concat([]byte{1, 1, 1, 0xfb, 14, 13}, []byte{0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1}, folders, []byte{0}, files, []byte{0})
	body := slices.Concat(le16(4), le32(len(header)), header, program)
	return slices.Concat(le32(len(body)), body)
}

// The attributes, tags and forms of the crafted entries (DWARF 5, section 7.5).
const (
	tagUnit, tagFunction, tagPartial, tagImport, tagVariable = 0x11, 0x2e, 0x3c, 0x3d, 0x34
	atName, atLow, atHigh, atRanges, atLines, atImport       = 0x03, 0x11, 0x12, 0x55, 0x10, 0x18
	formAddr, formString, formStrp, formOffset, formRef      = 0x01, 0x08, 0x0e, 0x17, 0x10
)

const many = 300000 // entries

// lined is a unit with children and a line table: Delve needs one for functions.
var lined = []byte{tagUnit, 1, atLines, formOffset}

// longNames has functions whose names are the ends of one name of a megabyte.
func longNames() crafted {
	var entries []byte
	for i := range many {
		entries = append(append(entries, 2), le32(i)...)
	}
	return crafted{
		"abbrev": abbreviations([]byte{tagUnit, 1}, []byte{tagFunction, 0, atName, formStrp}),
		"info":   unit(4, []byte{1}, entries, []byte{0}),
		"line":   lineTable(nil, nil),
		"str":    append(bytes.Repeat([]byte{'n'}, 1<<20), 0),
	}
}

// indexedNames has the same as clang has them with -gdwarf-5.
func indexedNames() crafted {
	const atBase, formStrx3 = 0x72, 0x27
	offsets := slices.Concat(le32(4*many+4), le16(5), le16(0))
	var entries []byte
	for i := range many {
		offsets = append(offsets, le32(i)...)
		entries = append(entries, 2, byte(i), byte(i>>8), byte(i>>16))
	}
	return crafted{
		"abbrev":      abbreviations([]byte{tagUnit, 1, atBase, formOffset}, []byte{tagFunction, 0, atName, formStrx3}),
		"info":        unit(5, []byte{1}, le32(8), entries, []byte{0}),
		"line":        lineTable(nil, nil),
		"str":         append(bytes.Repeat([]byte{'n'}, 1<<20), 0),
		"str_offsets": offsets,
	}
}

// longLists has functions with one list of ranges of a megabyte.
func longLists() crafted {
	const offsetPair = 4
	return crafted{
		"abbrev":   abbreviations(lined, []byte{tagFunction, 0, atRanges, formOffset}),
		"info":     unit(5, []byte{1}, le32(0), bytes.Repeat(append([]byte{2}, le32(0)...), many), []byte{0}),
		"line":     lineTable(nil, nil),
		"rnglists": append(bytes.Repeat([]byte{offsetPair, 1, 2}, 1<<20/3), 0),
	}
}

func longRanges() crafted {
	return crafted{
		"abbrev": abbreviations(lined, []byte{tagFunction, 0, atRanges, formOffset}),
		"info":   unit(4, []byte{1}, le32(0), bytes.Repeat(append([]byte{2}, le32(0)...), many), []byte{0}),
		"line":   lineTable(nil, nil),
		"ranges": append(bytes.Repeat(slices.Concat(le64(1), le64(2)), 1<<16), make([]byte, 16)...),
	}
}

// longRoot has functions with a short list, for each of which the unit's first entry is read again.
func longRoot() crafted {
	name := append(bytes.Repeat([]byte{'n'}, 1<<20), 0)
	return crafted{
		"abbrev": abbreviations(append(slices.Clone(lined), atName, formString), []byte{tagFunction, 0, atRanges, formOffset}),
		"info":   unit(4, []byte{1}, le32(0), name, bytes.Repeat(append([]byte{2}, le32(0)...), many), []byte{0}),
		"line":   lineTable(nil, nil),
		"ranges": append(slices.Concat(le64(1), le64(2)), make([]byte, 16)...),
	}
}

// oneLineTable has units that share a line table with many files.
func oneLineTable() crafted {
	return crafted{
		"abbrev": abbreviations([]byte{tagUnit, 0, atLines, formOffset}),
		"info":   bytes.Repeat(unit(4, []byte{1}, le32(0)), 1<<16),
		"line":   lineTable(nil, bytes.Repeat([]byte{'f', 0, 0, 0, 0}, 1<<18)),
	}
}

// oneFolder has a line table with many files, in a folder with a name of a megabyte.
func oneFolder() crafted {
	return crafted{
		"abbrev": abbreviations([]byte{tagUnit, 0, atLines, formOffset}),
		"info":   unit(4, []byte{1}, le32(0)),
		"line":   lineTable(append(bytes.Repeat([]byte{'d'}, 1<<20), 0), bytes.Repeat([]byte{'f', 0, 1, 0, 0}, 1<<18)),
	}
}

// manyUnits has millions of units without contents.
func manyUnits() crafted {
	return crafted{
		"abbrev": abbreviations([]byte{tagPartial, 0}),
		"info":   bytes.Repeat(unit(4, []byte{1}), 4<<20),
		"line":   lineTable(nil, nil),
	}
}

// manyRows has a unit of all the library's code, whose line table has more rows than are read.
func manyRows() crafted {
	const formData8, sameAgain = 0x07, 18
	return crafted{
		"abbrev": abbreviations([]byte{tagUnit, 0, atLines, formOffset, atLow, formAddr, atHigh, formData8}),
		"info":   unit(4, []byte{1}, le32(0), le64(1), le64(1<<30)),
		"line":   lineProgram(nil, []byte{'f', 0, 0, 0, 0}, append(bytes.Repeat([]byte{sameAgain}, 5<<20), 0, 1, 1)),
	}
}

// manyImports has a unit with variables, which another imports again and again.
func manyImports() crafted {
	const variables, imports = 1 << 17, 1 << 11
	first := unit(4, []byte{3}, bytes.Repeat([]byte{4, 'v', 0}, variables), []byte{0})
	return crafted{
		"abbrev": abbreviations([]byte{tagUnit, 1}, []byte{tagImport, 0, atImport, formRef}, []byte{tagPartial, 1}, []byte{tagVariable, 0, atName, formString}),
		"info":   append(first, unit(4, []byte{1}, bytes.Repeat(append([]byte{2}, le32(11)...), imports), []byte{0})...),
		"line":   lineTable(nil, nil),
	}
}

// circle has a function that covers the library, and in it an entry that refers to another, which refers to itself through a third.
func circle(tag, attribute byte) crafted {
	entry := func(to int) []byte { return append([]byte{3}, le32(to)...) }
	function := slices.Concat([]byte{2}, le64(1), le64(1<<30))
	at := 11 + 5 + len(function) // of the first entry in it
	return crafted{
		"abbrev": abbreviations(lined, []byte{tagFunction, 1, atLow, formAddr, atHigh, formAddr}, []byte{tag, 0, attribute, formRef}),
		"info":   unit(4, []byte{1}, le32(0), function, entry(at+5), entry(at+10), entry(at+5), []byte{0, 0}),
		"line":   lineTable(nil, nil),
	}
}
