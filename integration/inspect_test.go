package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/cfi/cfitest"
	"github.com/clewdbg/clew/internal/unwind/inspect"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema/schematest"
)

// inspectRows reads the rows that clew inspect prints, and compares them with its
// schema. The schema is slow: of many lines it sees some.
func inspectRows(t testing.TB, args ...string) (rows []inspect.RowReport) {
	t.Helper()
	o := clew(t, append([]string{"inspect", "--format", "json"}, args...)...).want(t, done)
	n := 0
	for line := range strings.Lines(o.stdout) {
		if n++; n%100 == 1 {
			if err := schematest.CheckOutput(schema.InspectRow, []byte(line)); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
		var row inspect.RowReport
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		rows = append(rows, row)
	}
	return rows
}

func inspectSummary(t testing.TB, args ...string) (r inspect.Report) {
	t.Helper()
	o := clew(t, append([]string{"inspect", "--format", "json"}, args...)...).want(t, done)
	if err := schematest.CheckOutput(schema.Inspect, []byte(o.stdout)); err != nil {
		t.Errorf("%s: %v", o.stdout, err)
	}
	if err := json.Unmarshal([]byte(o.stdout), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// readelfRows lists the rows of .eh_frame that readelf shows, with CFA and return
// address as equations.
func readelfRows(t testing.TB, path string) (rows []inspect.RowReport) {
	t.Helper()
	cmd := exec.Command(testneed.Tool(t, "readelf"), "--debug-dump=frames-interp,no-follow-links", path)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	text, err := cmd.Output()
	if len(text) == 0 { // its status is 1 where it misses a separate debug file
		t.Fatal(err)
	}
	fdes, err := cfitest.Readelf(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fdes {
		if f.Section != ".eh_frame" || f.Start == f.End {
			continue
		}
		if len(f.Rows) == 0 { // that of its CIE alone
			rows = append(rows, row(f.Start, "", ""))
		}
		for _, r := range f.Rows {
			if r.Start < f.End {
				rows = append(rows, row(r.Start, equation(r.CFA), equation(r.Rules["ra"])))
			}
		}
	}
	return rows
}

func row(start uint64, cfa, ra string) inspect.RowReport {
	r := inspect.RowReport{CFA: cfa, RA: ra}
	if err := r.Start.UnmarshalText(fmt.Appendf(nil, "%#x", start)); err != nil {
		panic(err) // it is a number
	}
	return r
}

// equation returns readelf's rule as clew writes it; of an expression the kind.
func equation(rule string) string {
	switch {
	case rule == "u":
		return "undefined"
	case rule == "exp", rule == "vexp":
		return "expr:"
	case strings.HasPrefix(rule, "c"):
		return "[cfa" + rule[1:] + "]"
	}
	return strings.TrimSuffix(rule, "+0")
}

// TestInspectTable compares every row with readelf: the C library, the loader,
// and a program of ours.
func TestInspectTable(t *testing.T) {
	paths, _ := filepath.Glob("/lib/*-linux-gnu/libc.so.6")
	loaders, _ := filepath.Glob("/lib/*-linux-gnu/ld-linux-*")
	paths = append(append(paths, loaders...), build(t, variantNamed(t, "linked-O2-omit")).Library)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			want, got := map[uint64]inspect.RowReport{}, 0
			for _, r := range readelfRows(t, path) {
				want[uint64(r.Start)] = r
			}
			covered, last := uint64(0), uint64(0)
			for _, r := range inspectRows(t, "--table", path) {
				if r.Format != "dwarfcfi" || uint64(r.Start) < last || r.End <= r.Start {
					t.Fatalf("row %+v behind %#x", r, last)
				}
				last = uint64(r.End)
				covered += uint64(r.End - r.Start)
				w, ok := want[uint64(r.Start)]
				switch {
				case !ok:
					continue // .debug_frame's, of a separate debug file
				case w.CFA == "":
				case !same(r.CFA, w.CFA) || !same(r.RA, w.RA):
					t.Errorf("%v: cfa=%s; ra=%s, readelf has %s; %s", r.Start, r.CFA, r.RA, w.CFA, w.RA)
				}
				got++
			}
			if got != len(want) || got < 20 {
				t.Errorf("%d rows of readelf's %d", got, len(want))
			}
			f := inspectSummary(t, path).Formats[0]
			if f.Rows < got || f.CoveredBytes > covered || f.CoveredBytes > f.ExecutableBytes || f.CoveredBytes < f.ExecutableBytes/2 || len(f.Problems) > 0 {
				t.Errorf("%+v, rows cover %d bytes", f, covered)
			}
			t.Logf("%d rows, %d compared, %d of %d bytes covered", f.Rows, got, f.CoveredBytes, f.ExecutableBytes)
		})
	}
}

// same says whether a rule is readelf's.
func same(got, want string) bool {
	return got == want || want == "expr:" && strings.HasPrefix(strings.TrimPrefix(got, "["), want)
}

// TestInspectLookup: the row for an address is the one in the table, whatever
// address of the row is asked for; behind it comes the next.
func TestInspectLookup(t *testing.T) {
	path := build(t, variantNamed(t, "linked-O1-g-fp")).Library
	rows := inspectRows(t, "--table", path)
	for i, want := range rows {
		if i%5 != 0 {
			continue
		}
		for _, at := range []uint64{uint64(want.Start), uint64(want.End) - 1} {
			got := inspectRows(t, "--lookup", fmt.Sprint(at), path)
			if len(got) != 1 || fmt.Sprint(got[0]) != fmt.Sprint(want) {
				t.Errorf("%#x: %+v, want %+v", at, got, want)
			}
		}
	}
	named := false
	for _, r := range rows {
		named = named || r.Function == "leaf_break" && r.CFA == "rbp+16" && r.RA == "[cfa-8]" && r.FP == "[cfa-16]"
	}
	if !named {
		t.Error("leaf_break has no row with a frame pointer")
	}
	clew(t, "inspect", "--lookup", "0x7fffffff", path).oneLine(t, failed, "0x7fffffff", path)
	text := clew(t, "inspect", "--lookup", rows[0].Start.String(), path).want(t, done).stdout
	if !strings.Contains(text, "cfa="+rows[0].CFA+"; ra="+rows[0].RA) || !strings.Contains(text, rows[0].Start.String()) {
		t.Errorf("as text: %s", text)
	}
}

// TestInspectWays: the same tables without section headers, and from a separate
// debug file; none at all; Go's; files of other formats.
func TestInspectWays(t *testing.T) {
	library := build(t, variantNamed(t, "linked-O2-omit")).Library
	whole := inspectRows(t, "--table", library)
	bare := filepath.Join(t.TempDir(), "bare.so")
	data, err := os.ReadFile(library)
	if err != nil {
		t.Fatal(err)
	}
	clear(data[0x28:0x30]) // e_shoff
	clear(data[0x3a:0x40]) // e_shentsize, e_shnum, e_shstrndx
	write(t, bare, data)
	for i, r := range inspectRows(t, "--table", bare) {
		r.Function = whole[i].Function
		if fmt.Sprint(r) != fmt.Sprint(whole[i]) {
			t.Errorf("without section headers %+v, want %+v", r, whole[i])
		}
	}
	v := program.Variant{Name: "linked-O2-inspected", CFlags: "-O2 -g -fno-asynchronous-unwind-tables", Linkage: program.Linked}
	library = build(t, v).Library
	before := inspectSummary(t, library).Formats[0]
	debug := split(t, library, t.TempDir())
	if r := inspectSummary(t, library); len(r.Formats) > 0 && r.Formats[0].Functions >= before.Functions {
		t.Errorf("stripped it has %+v, and had %+v", r.Formats[0], before)
	}
	copyFile(t, filepath.Join(filepath.Dir(library), filepath.Base(debug)), debug)
	if after := inspectSummary(t, library).Formats[0]; fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("with the debug file %+v, before %+v", after, before)
	}
	if f := inspectSummary(t, build(t, variantNamed(t, "linked-O2-omit")).Path).Formats; len(f) == 0 || f[0].CoveredBytes < f[0].ExecutableBytes/2 || f[0].Functions < 1000 {
		t.Errorf("of a Go program: %+v", f)
	}
	object := filepath.Join(t.TempDir(), "x.o")
	source := filepath.Join(t.TempDir(), "x.c")
	write(t, source, []byte("int f(int x) { return x; }\n"))
	if out, err := exec.Command(testneed.CC(t), "-c", "-o", object, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	clew(t, "inspect", object).oneLine(t, failed, object, "link it first")
	clew(t, "inspect", source).oneLine(t, failed, source, "ELF")
	clew(t, "inspect", filepath.Join(t.TempDir(), "missing")).oneLine(t, failed, "no such file")
	clew(t, "inspect", "--table", "--lookup", "1", library).oneLine(t, usage, "not both")
	clew(t, "inspect", "--lookup", "main", library).oneLine(t, usage, "main")
}
