package gotab_test

import (
	"debug/dwarf"
	"debug/elf"
	"errors"
	"io"
	"maps"
	"testing"

	"github.com/clewdbg/clew/server/symbols/gotab"
	"github.com/clewdbg/clew/server/symbols/gotab/testprog"
)

// row is where DWARF has code of a line.
type row struct {
	file string
	line int
}

// TestLinesAgainstDWARF: the code of a line begins in the functions in which DWARF has
// statements of it, and at addresses that DWARF assigns to it.
func TestLinesAgainstDWARF(t *testing.T) {
	needAMD64(t)
	eachProgram(t, func(t *testing.T, b testprog.Build, f *elf.File, s placed) {
		if b.Stripped() {
			return
		}
		table, m := textOf(t, f, s)
		for _, s := range f.Sections {
			if s.Type == elf.SHT_PROGBITS && s.Flags&elf.SHF_ALLOC != 0 && m.GoFunc >= s.Addr && m.GoFunc < s.Addr+s.Size {
				table = table.WithFuncData(contents(t, s)[m.GoFunc-s.Addr:])
			}
		}
		of, statements := linesOfMain(t, f, table)
		if len(statements) < 8 {
			t.Fatalf("%d lines", len(statements))
		}
		for at, want := range statements {
			got := make(map[uint64]bool)
			for _, addr := range table.LineAddrs(at.file, at.line) {
				if of(addr) != at {
					t.Errorf("%v: %#x is of %v", at, addr, of(addr))
				}
				fn, _ := table.Func(addr)
				got[fn.Entry] = true
			}
			if !maps.Equal(got, want) {
				t.Errorf("%v: in the functions %v, DWARF says %v", at, got, want)
			}
		}
		if out := table.LineAddrs("/no/such.go", 1); out != nil {
			t.Error(out)
		}
	})
}

// linesOfMain reads the lines of package main: which one an address is of, and for each that has
// statements the entries of its functions.
func linesOfMain(t *testing.T, f *elf.File, table *gotab.Table) (of func(uint64) row, statements map[row]map[uint64]bool) {
	t.Helper()
	d, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	statements = make(map[row]map[uint64]bool)
	var rows []dwarf.LineEntry
	for r := d.Reader(); ; r.SkipChildren() {
		cu, err := r.Next()
		if err != nil || cu == nil {
			break
		}
		if name, _ := cu.Val(dwarf.AttrName).(string); cu.Tag != dwarf.TagCompileUnit || name != "main" {
			continue
		}
		lines, err := d.LineReader(cu)
		if err != nil {
			t.Fatal(err)
		}
		for {
			var e dwarf.LineEntry
			if err := lines.Next(&e); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, e)
			if fn, ok := table.Func(e.Address); ok && e.IsStmt && !e.EndSequence {
				at := row{e.File.Name, e.Line}
				if statements[at] == nil {
					statements[at] = make(map[uint64]bool)
				}
				statements[at][fn.Entry] = true
			}
		}
	}
	return func(addr uint64) row {
		for i := range rows[:len(rows)-1] {
			if e := &rows[i]; !e.EndSequence && addr >= e.Address && addr < rows[i+1].Address {
				return row{e.File.Name, e.Line}
			}
		}
		return row{}
	}, statements
}
