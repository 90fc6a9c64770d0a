package dwarfline

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

// unit5 is a unit of DWARF 5 with entries.
func unit5(entries []byte) []byte {
	out := binary.LittleEndian.AppendUint32(nil, uint32(8+len(entries)))
	out = append(out, 5, 0, unitCompile, 8, 0, 0, 0, 0)
	return append(out, entries...)
}

// Abbreviations of the units that follow.
const (
	abbrevUnit      = 1 + iota // with entries below
	abbrevFunction             // name (string), low_pc, high_pc
	abbrevNamespace            // name (string), with entries below
	abbrevOf                   // specification (ref4), low_pc, high_pc
)

var searchAbbrevs = []byte{
	abbrevUnit, 0x11, 1, 0x13, 0x0b, 0, 0, // language
	abbrevFunction, 0x2e, 0, 0x03, 0x08, 0x11, 0x01, 0x12, 0x0b, 0, 0,
	abbrevNamespace, 0x39, 1, 0x03, 0x08, 0, 0,
	abbrevOf, 0x2e, 0, 0x47, 0x13, 0x11, 0x01, 0x12, 0x0b, 0, 0,
	0,
}

// languageCPP is DW_LANG_C_plus_plus.
const languageCPP = 4

func function(to []byte, name string, at uint64) []byte {
	to = append(append(append(to, abbrevFunction), name...), 0)
	return append(binary.LittleEndian.AppendUint64(to, at), 16)
}

func within(t *testing.T, limit time.Duration, what string, do func()) {
	t.Helper()
	begin := time.Now()
	do()
	if took := time.Since(begin); took > testneed.Patience(limit) {
		t.Errorf("%s took %v", what, took)
	}
}

// TestManyOfOneName: of a million functions with one name those count that may, and that there are more is said once.
func TestManyOfOneName(t *testing.T) {
	entries := []byte{abbrevUnit, languageCPP}
	for i := range uint64(1_000_000) {
		entries = function(entries, "very_common", 0x1000+16*i)
	}
	table := New(parts{".debug_info": unit5(append(entries, 0)), ".debug_abbrev": searchAbbrevs}.source())
	before := heap()
	for range 2 {
		within(t, 10*time.Second, "a million functions", func() {
			if found, more := table.Named("very_common", func(*Call) bool { return true }); len(found) != maxFound || !more {
				t.Errorf("%d functions, more %v", len(found), more)
			}
		})
	}
	within(t, 10*time.Second, "none of them", func() {
		if found, more := table.Named("very_common", func(*Call) bool { return false }); len(found) != 0 || !more {
			t.Errorf("%d functions, more %v", len(found), more)
		}
	})
	if problems := table.Problems(); len(problems) != 1 || !errors.Is(problems[0], errManyFound) {
		t.Errorf("problems %v", problems)
	}
	if used := heap() - before; used > 200<<20 {
		t.Errorf("%d MB are kept", used>>20)
	}
}

// TestCircularNames: entries that refer to each other have no name, and end the search of none but themselves.
func TestCircularNames(t *testing.T) {
	entries := []byte{abbrevUnit, languageCPP}
	const header = 12
	first := uint32(header + len(entries))
	size := uint32(1 + 4 + 8 + 1)
	for i, to := range []uint32{first + size, first, first + 2*size} {
		entries = binary.LittleEndian.AppendUint32(append(entries, abbrevOf), to)
		entries = append(binary.LittleEndian.AppendUint64(entries, 0x1000+16*uint64(i)), 16)
	}
	entries = function(entries, "sane_one", 0x2000)
	table := New(parts{".debug_info": unit5(append(entries, 0)), ".debug_abbrev": searchAbbrevs}.source())
	if found, more := table.Named("sane_one", func(*Call) bool { return true }); len(found) != 1 || more || found[0].Entry != 0x2000 {
		t.Errorf("%+v, more %v", found, more)
	}
	if found, _ := table.Named("", func(*Call) bool { return true }); len(found) != 4 {
		t.Errorf("%d functions of 4", len(found))
	}
}

// TestDeepNamespaces: a function in a hundred thousand namespaces is found; its scopes are named as far as they may be.
func TestDeepNamespaces(t *testing.T) {
	const deep = 100_000
	entries := []byte{abbrevUnit, languageCPP}
	for range deep {
		entries = append(entries, abbrevNamespace, 'n', 0)
	}
	entries = append(function(entries, "deepest", 0x1000), bytes.Repeat([]byte{0}, deep+1)...)
	entries = function(entries[:len(entries)-1], "sane_one", 0x2000)
	table := New(parts{".debug_info": unit5(append(entries, 0)), ".debug_abbrev": searchAbbrevs}.source())
	within(t, 5*time.Second, "deep namespaces", func() {
		for _, name := range []string{"deepest", "sane_one"} {
			if found, _ := table.Named(name, func(*Call) bool { return true }); len(found) != 1 || found[0].Name != name {
				t.Errorf("%s: %+v", name, found)
			}
		}
	})
	if problems := table.Problems(); len(problems) != 1 || !errors.Is(problems[0], errScopes) {
		t.Errorf("problems %v", problems)
	}
}

// lineProgram is a line table of version 4 with one file, f.c, and a program.
func lineProgram(program []byte) []byte {
	header := []byte{1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0, 'f', '.', 'c', 0, 0, 0, 0, 0}
	out := binary.LittleEndian.AppendUint32([]byte{4, 0}, uint32(len(header)))
	out = append(append(out, header...), program...)
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(out))), out...)
}

// TestManyRows: a table of ten million rows in one sequence is left out, and that is said; in many sequences a line is found in it.
func TestManyRows(t *testing.T) {
	const rows = 10_000_000
	set := append([]byte{0, 9, lneSetAddress}, 0, 0, 1, 0, 0, 0, 0, 0)
	end := []byte{lnsAdvancePC, 1, 0, 1, lneEndSequence}
	one := append(append(append([]byte{}, set...), bytes.Repeat([]byte{0x13}, rows)...), end...) // line + 1, address
	var many []byte
	for range rows / 1000 {
		many = append(append(append(many, set...), bytes.Repeat([]byte{0x13}, 1000)...), end...)
	}
	abbrev := []byte{1, 0x11, 0, 0x13, 0x0b, 0x10, 0x17, 0, 0, 0}
	for name, c := range map[string]struct {
		program  []byte
		problems int
		found    int
	}{"one sequence": {one, 1, 0}, "many": {many, 0, 1}} {
		entries := []byte{1, languageCPP, 0, 0, 0, 0}
		table := New(parts{".debug_info": unit5(entries), ".debug_abbrev": abbrev, ".debug_line": lineProgram(c.program)}.source())
		before := heap()
		within(t, 10*time.Second, name, func() {
			_, found := table.Line("f.c", func(string) bool { return true }, 500)
			if len(found) != c.found || len(table.Problems()) != c.problems {
				t.Errorf("%s: %v, problems %v", name, found, table.Problems())
			}
		})
		if used := heap() - before; used > 100<<20 {
			t.Errorf("%s: %d MB are kept", name, used>>20)
		}
	}
}
