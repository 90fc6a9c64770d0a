package integration

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/unwind/inspect"
)

// objdumpEntry is an entry in what llvm-objdump --macho --unwind-info prints.
var objdumpEntry = regexp.MustCompile(`\[\d+\]: function offset=(0x[0-9a-f]+), encoding(?:\[\d+\])?=(0x[0-9a-f]+)`)

// objdumpIndex is an index entry in its output; the last one says where all ends.
var objdumpIndex = regexp.MustCompile(`\[\d+\]: function offset=(0x[0-9a-f]+), 2nd level page`)

// objdumpTable is what llvm-objdump has printed: every entry, and how many bytes
// those that are not null are for. Stubs are code too, and have no entry.
func objdumpTable(t *testing.T, path string) (entries []string, covered uint64) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	number := func(s string) (n uint64) {
		if _, err := fmt.Sscan(s, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	var last, encoding uint64
	until := func(start uint64) {
		if encoding != 0 {
			covered += start - last
		}
	}
	for _, m := range objdumpEntry.FindAllStringSubmatch(string(text), -1) {
		start := number(m[1])
		until(start)
		last, encoding = start, number(m[2])
		entries = append(entries, fmt.Sprintf("%#x 0x%08x", start, encoding))
	}
	index := objdumpIndex.FindAllStringSubmatch(string(text), -1)
	if len(index) == 0 {
		t.Fatalf("%s has no index", path)
	}
	until(number(index[len(index)-1][1]))
	return entries, covered
}

// TestInspectMachO compares every row of compact unwind information with
// llvm-objdump's; functions that it leaves to DWARF have rows there.
func TestInspectMachO(t *testing.T) {
	paths, err := filepath.Glob("../plugins/compactunwind/table/testdata/*.dylib")
	if err != nil || len(paths) < 4 {
		t.Fatalf("%v, %v", paths, err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			want, covered := objdumpTable(t, strings.TrimSuffix(path, ".dylib")+".txt")
			var got []string
			delegated := map[uint64]bool{} // starts
			for _, r := range inspectRows(t, "--table", path) {
				if r.Format == "dwarfcfi" {
					delegated[uint64(r.Start)] = true
					continue
				}
				got = append(got, fmt.Sprintf("%v %s", r.Start, r.Encoding))
				checkCompactRow(t, &r, delegated)
			}
			if fmt.Sprint(got) != fmt.Sprint(want) || len(want) < 7 {
				t.Errorf("%v\nwant %v", got, want)
			}
			for _, f := range inspectSummary(t, path).Formats {
				if f.Format == "compactunwind" && (f.Rows != len(want) || f.Functions < f.Rows-2 || f.CoveredBytes != covered || f.CoveredBytes > f.ExecutableBytes) {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

// checkCompactRow: rules where there are some, and the null encoding and DWARF's
// marked.
func checkCompactRow(t *testing.T, r *inspect.RowReport, delegated map[uint64]bool) {
	t.Helper()
	rules := r.CFA != "" && r.RA != "" && r.FP != ""
	switch null := len(r.Flags) > 0 && r.Flags[0] == inspect.Null; {
	case r.Function == "" || r.End <= r.Start:
		t.Errorf("%+v", r)
	case null != (r.Encoding == "0x00000000"), null && (rules || r.Delegate != ""):
		t.Errorf("%+v", r)
	case r.Delegate != "" && (rules || r.Delegate != "dwarfcfi" || !delegated[uint64(r.Start)]):
		t.Errorf("%+v", r)
	case !null && r.Delegate == "" && !rules:
		t.Errorf("%+v", r)
	}
}

// TestInspectUniversal: a universal file shows all its images, in its order; an
// image that is linked for another address than 0 has the addresses of the file.
func TestInspectUniversal(t *testing.T) {
	dir := t.TempDir()
	unpack := func(name string) string {
		path := filepath.Join(dir, name+".dylib")
		if err := program.UnpackMachO(path, name); err != nil {
			t.Fatal(err)
		}
		return path
	}
	path := unpack("fp-universal")
	r := inspectSummary(t, path)
	if len(r.Images) != 2 || r.Images[0].Arch != "amd64" || r.Images[1].Arch != "arm64" || r.Arch != "" || len(r.Formats) > 0 {
		t.Fatalf("%+v", r)
	}
	rows := map[string]int{}
	last := ""
	for _, row := range inspectRows(t, "--table", path) {
		rows[row.Arch]++
		if last == "arm64" && row.Arch == "amd64" {
			t.Error("the images are mixed")
		}
		last = row.Arch
		if row.Arch == "arm64" && (row.Function != "other" || row.Encoding != "0x02000000" || row.RA != "x30" || row.CFA != "sp" || row.FP != "unchanged") {
			t.Errorf("%+v", row)
		}
	}
	if rows["amd64"] < 10 || rows["arm64"] != 1 {
		t.Errorf("rows: %v", rows)
	}
	text := clew(t, "inspect", "--table", path).want(t, done).stdout
	if !strings.Contains(text, "amd64 compactunwind outer:\n") || !strings.Contains(text, "arm64 compactunwind other:\n  0x") {
		t.Errorf("as text: %s", text)
	}

	path = unpack("O0")
	low := inspectRows(t, "--table", path)
	linkedAt(t, path, 1<<32)
	high := inspectRows(t, "--table", path)
	if len(low) != len(high) {
		t.Fatalf("%d rows, at another address %d", len(low), len(high))
	}
	for i, row := range high {
		want := low[i]
		want.Start, want.End = want.Start+1<<32, want.End+1<<32
		if fmt.Sprint(row) != fmt.Sprint(want) {
			t.Errorf("%+v, want %+v", row, want)
		}
		if i%5 > 0 || row.Format != "compactunwind" {
			continue
		}
		if got := inspectRows(t, "--lookup", fmt.Sprint(uint64(row.End)-1), path); fmt.Sprint(got[len(got)-1]) != fmt.Sprint(row) {
			t.Errorf("%+v, want %+v", got, row)
		}
	}
	clew(t, "inspect", "--lookup", "0x400", path).oneLine(t, failed, "0x400", path)
}

// linkedAt changes a Mach-O file that was linked for address 0 as if it had been
// linked for another: its segments, sections and symbols.
func linkedAt(t testing.TB, path string, base uint64) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	word := func(at uint32) uint32 { return binary.LittleEndian.Uint32(data[at:]) }
	move := func(at uint32) {
		binary.LittleEndian.PutUint64(data[at:], binary.LittleEndian.Uint64(data[at:])+base)
	}
	at := uint32(32) // the first load command; <mach-o/loader.h>
	for range word(16) {
		switch word(at) {
		case 0x19: // LC_SEGMENT_64
			move(at + 24)
			for i := range word(at + 64) {
				move(at + 72 + 80*i + 32)
			}
		case 0x2: // LC_SYMTAB
			for i := range word(at + 12) {
				if symbol := word(at+8) + 16*i; data[symbol+5] > 0 { // it is in a section
					move(symbol + 8)
				}
			}
		}
		at += word(at + 4)
	}
	write(t, path, data)
}
