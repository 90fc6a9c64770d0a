package dwarfline

import "testing"

// TestPrologRow: of the rows of one address, that of a file that there is.
func TestPrologRow(t *testing.T) {
	const glue, own = 1, 2
	table := func(rows ...row) *lineTable {
		return &lineTable{
			paths:   map[uint64]string{glue: "/go-build/cgo-gcc-prolog", own: "/go-build/main.go"},
			version: 5, files: make([]lineFile, 3), rows: rows, sequences: []sequence{{low: 0x10, high: 0x40, end: len(rows), reach: 0x40}},
		}
	}
	for _, tt := range []struct {
		name  string
		rows  []row
		lines map[uint64]int
	}{
		{"glue last", []row{{addr: 0x10, file: glue, line: 94}, {addr: 0x20, file: own, line: 13}, {addr: 0x20, file: glue, line: 96}, {addr: 0x30, file: own, line: 14}}, map[uint64]int{0x10: 94, 0x20: 13, 0x2f: 13, 0x30: 14}},
		{"glue first", []row{{addr: 0x10, file: glue, line: 94}, {addr: 0x10, file: own, line: 13}}, map[uint64]int{0x10: 13}},
		{"two of one's own", []row{{addr: 0x10, file: own, line: 13}, {addr: 0x10, file: own, line: 14}, {addr: 0x10, file: glue, line: 96}}, map[uint64]int{0x10: 14}},
		{"glue alone", []row{{addr: 0x10, file: glue, line: 94}, {addr: 0x10, file: glue, line: 96}}, map[uint64]int{0x10: 96}},
	} {
		for addr, want := range tt.lines {
			if got, ok := table(tt.rows...).find(addr); !ok || got.Line != want {
				t.Errorf("%s, %#x: line %d of %s, want %d", tt.name, addr, got.Line, got.File, want)
			}
		}
	}
}
