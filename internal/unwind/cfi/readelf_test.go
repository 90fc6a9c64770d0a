package cfi_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/cfi"
	"github.com/clewdbg/clew/internal/unwind/cfi/cfitest"
	"github.com/clewdbg/clew/unwind"
)

// tally counts what was compared.
type tally struct{ fdes, rows, rules int }

// compareReadelf compares every row of a file with what readelf says.
func compareReadelf(t *testing.T, file *cfitest.File, text string) tally {
	t.Helper()
	want, err := cfitest.Readelf(text)
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]*cfi.Table{}
	var got tally
	for i := range want {
		w := &want[i]
		table := tables[w.Section]
		if table == nil {
			table = file.Table(w.Section)
			tables[w.Section] = table
			if first, n := table.Problems(); n > 0 {
				t.Errorf("%d problems: %v", n, first)
			}
		}
		if w.Start == w.End {
			continue
		}
		fde, ok := table.Find(w.Start)
		if !ok || fde.Offset != w.Offset || fde.End != w.End {
			t.Errorf("%s+%#x: FDE of %#x is at %#x and ends at %#x, want end %#x", w.Section, w.Offset, w.Start, fde.Offset, fde.End, w.End)
			continue
		}
		got.fdes++
		compareRows(t, file.Arch, table, &fde, w, &got)
	}
	return got
}

func compareRows(t *testing.T, arch unwind.Arch, table *cfi.Table, fde *cfi.FDE, w *cfitest.ReadelfFDE, got *tally) {
	t.Helper()
	n := 0
	err := table.Rows(fde, func(row *cfi.Row) bool {
		if len(w.Rows) == 0 {
			return true // readelf shows no rows that the CIE has already
		}
		if n == len(w.Rows) {
			t.Errorf("%s+%#x: a row more than readelf's, at %#x", w.Section, w.Offset, row.Start)
			return false
		}
		if problem := compareRow(arch, row, &w.Rows[n], got); problem != "" {
			t.Errorf("%s+%#x, row %d: %s", w.Section, w.Offset, n, problem)
			return false
		}
		n++
		got.rows++
		return true
	})
	for n < len(w.Rows) && w.Rows[n].Start >= w.End {
		n++ // rows behind the code
	}
	if err != nil || !t.Failed() && n != len(w.Rows) {
		t.Errorf("%s+%#x: %d rows, want %d; %v", w.Section, w.Offset, n, len(w.Rows), err)
	}
}

func compareRow(arch unwind.Arch, row *cfi.Row, want *cfitest.ReadelfRow, got *tally) string {
	if row.Start != want.Start {
		return fmt.Sprintf("starts at %#x, want %#x", row.Start, want.Start)
	}
	cfa := readelfRule(arch, row.CFA)
	if row.CFA.Kind == cfi.InRegister {
		cfa = fmt.Sprintf("%s%+d", arch.RegisterName(row.CFA.Register), row.CFA.Offset)
	} else if cfa == "vexp" {
		cfa = "exp" // readelf's word for a CFA's expression
	}
	if cfa != want.CFA {
		return fmt.Sprintf("CFA %s, want %s", cfa, want.CFA)
	}
	rules := map[string]string{"ra": readelfRule(arch, row.RA)}
	for _, r := range row.Rules {
		rules[arch.RegisterName(r.Register)] = readelfRule(arch, r.Rule)
	}
	for reg, w := range want.Rules {
		if arch == unwind.ARM64 && strings.HasPrefix(reg, "v") || strings.HasPrefix(reg, "xmm") || reg == "ra_sign_state" {
			if r := "d" + strings.TrimPrefix(reg, "v"); rules[r] != "" {
				reg = r
			} else {
				continue // not kept
			}
		}
		g := rules[reg]
		if g == "" {
			g = "u"
		}
		if g != w {
			return fmt.Sprintf("%s: %s, want %s", reg, g, w)
		}
		delete(rules, reg)
		got.rules++
	}
	for reg, g := range rules {
		if g != "u" {
			return fmt.Sprintf("%s: %s, which readelf does not have", reg, g)
		}
	}
	return ""
}

func readelfRule(arch unwind.Arch, r cfi.Rule) string {
	switch r.Kind {
	case cfi.SameValue:
		return "s"
	case cfi.AtCFA:
		return fmt.Sprintf("c%+d", r.Offset)
	case cfi.CFAPlus:
		return fmt.Sprintf("v%+d", r.Offset)
	case cfi.InRegister:
		return arch.RegisterName(r.Register)
	case cfi.AtExpression:
		return "exp"
	case cfi.ValExpression:
		return "vexp"
	}
	return "u"
}

// TestReadelfGolden compares with readelf's output as it was kept.
func TestReadelfGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.elf")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d files in testdata, %v", len(files), err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(strings.TrimSuffix(path, ".elf") + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			got := compareReadelf(t, load(t, path), string(text))
			if got.fdes < 10 || got.rows < 50 || got.rules < 100 {
				t.Errorf("only %+v compared", got)
			}
		})
	}
}

func load(t testing.TB, path string) *cfitest.File {
	t.Helper()
	file, err := cfitest.Load(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	file.Code = nil // files of sections alone have no segments
	return file
}

// TestReadelfLive compares programs of this machine with what its readelf
// says: C at several options, C++ and Go libraries, the C library itself.
func TestReadelfLive(t *testing.T) {
	readelf, cc := testneed.Tool(t, "readelf"), testneed.CC(t)
	dir := t.TempDir()
	var paths []string
	for i, flags := range []string{"-O0", "-O1", "-O2", "-O3 -fPIC", "-Os", "-O2 -fno-omit-frame-pointer", "-O2 -mstackrealign",
		"-O2 -fno-asynchronous-unwind-tables -g", "-O2 -static -g"} {
		if strings.Contains(flags, "stackrealign") && runtime.GOARCH != "amd64" {
			continue
		}
		out := filepath.Join(dir, fmt.Sprint("prog", i))
		cfitest.BuildC(t, out, append([]string{cc}, strings.Fields(flags)...)...)
		paths = append(paths, out)
	}
	goProgram := filepath.Join(dir, "go")
	cfitest.BuildGo(t, goProgram)
	paths = append(paths, goProgram)
	for _, pattern := range []string{"/lib/*-linux-gnu/libc.so.6", "/lib/*-linux-gnu/ld-linux*", "/usr/lib/*-linux-gnu/libstdc++.so.6"} {
		found, _ := filepath.Glob(pattern)
		paths = append(paths, found...)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			file, err := cfitest.Load(path, 0)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(readelf, "--debug-dump=frames-interp,no-follow-links", path)
			cmd.Env = append(os.Environ(), "LC_ALL=C")
			text, err := cmd.Output()
			if len(text) == 0 { // its status is 1 where it misses a separate debug file
				t.Fatal(err)
			}
			got := compareReadelf(t, file, string(text))
			t.Logf("%+v", got)
			if got.fdes < 10 {
				t.Errorf("only %+v compared", got)
			}
		})
	}
}
