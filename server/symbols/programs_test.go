package symbols

import (
	"debug/elf"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/symbols/gotab/testprog"
	"github.com/clewdbg/clew/unwind"
)

// Go's table must be found however the program was linked. CLEW_GO_TOOLCHAINS
// (space-separated) names further Go versions to build with.
func TestGoTableOfEveryBuild(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	for _, version := range append([]string{""}, strings.Fields(os.Getenv("CLEW_GO_TOOLCHAINS"))...) {
		for _, b := range testprog.Builds() {
			if version != "" {
				b.Env = append(b.Env, testneed.Toolchain(t, version))
			}
			t.Run(b.Name+version, func(t *testing.T) {
				t.Parallel()
				path := b.Make(t)
				f, err := Open(path)
				if err != nil {
					t.Fatal(err)
				}
				checkGo(t, f, b)
				if b.Cgo && !b.Stripped() {
					checkC(t, f, path)
				}
			})
		}
	}
}

func checkGo(t *testing.T, f *File, b testprog.Build) {
	table := f.GoTable()
	if table == nil {
		t.Fatal("no Go table")
	}
	if start, _ := table.Bounds(); !within(f.Executable(), start) {
		t.Errorf("the text starts at %#x, which is not executable", start)
	}
	main := f.Find("main.main")
	if len(main) != 1 {
		t.Fatalf("main.main is at %#x", main)
	}
	calls := f.Calls(main[0])
	if len(calls) != 1 || calls[0].Function != "main.main" || filepath.Base(calls[0].File) != "main.go" {
		t.Errorf("main.main at %#x: %+v", main[0], calls)
	}
	if b.Cgo {
		return // the entry point is C's _start
	}
	// The entry point is the proof that the table is not shifted.
	fn, ok := table.Func(f.EntryPoint())
	if !ok || fn.Entry != f.EntryPoint() || !strings.HasPrefix(fn.Name(), "_rt0_") {
		t.Errorf("entry point %#x is in %s at %#x", f.EntryPoint(), fn.Name(), fn.Entry)
	}
	// add is inlined into sum[float64]: the innermost call comes first.
	inlined := false
	for i := range table.Len() {
		fn, _ := table.At(i)
		for pc := fn.Entry; strings.HasPrefix(fn.Name(), "main.") && pc < fn.End; pc++ {
			if c := f.Calls(pc); len(c) > 1 && strings.HasPrefix(c[0].Function, "main.add[") {
				inlined = true
			}
		}
	}
	if !inlined {
		t.Error("no inlined call of main.add")
	}
}

func within(ranges []unwind.Range, addr uint64) bool {
	for _, r := range ranges {
		if addr >= r.Start && addr < r.End {
			return true
		}
	}
	return false
}

// checkC compares the C part with the symbol table and with the line numbers
// that the source states.
func checkC(t *testing.T, f *File, path string) {
	ef, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer ef.Close()
	syms, err := ef.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{"clew_leaf": " 6 7 ", "clew_middle": " 11 12 ", "clew_outer": " 16 "}
	for _, s := range syms {
		if s.Name == "clew_unsized" {
			if b, ok := f.FunctionBounds(s.Value + 2); !ok || b.Start != s.Value || b.Exact || b.Name != s.Name {
				t.Errorf("%s: %+v %v, want an inexact function at %#x", s.Name, b, ok, s.Value)
			}
		}
		want, ok := lines[s.Name]
		if !ok {
			continue
		}
		delete(lines, s.Name)
		seen := map[int]bool{}
		for pc := s.Value; pc < s.Value+s.Size; pc++ {
			if b, ok := f.FunctionBounds(pc); !ok || b.Name != s.Name || b.Start != s.Value || b.End != s.Value+s.Size || !b.Exact {
				t.Fatalf("%s at %#x: %+v %v", s.Name, pc, b, ok)
			}
			c := f.Calls(pc)
			if len(c) != 1 || c[0].Function != s.Name || filepath.Base(c[0].File) != "native.c" {
				t.Fatalf("%s at %#x: %+v", s.Name, pc, c)
			}
			seen[c[0].Line] = true
		}
		for _, line := range strings.Fields(want) {
			found := false
			for n := range seen {
				found = found || line == strconv.Itoa(n)
			}
			if !found {
				t.Errorf("%s has lines %v, want line %s", s.Name, seen, line)
			}
		}
	}
	if len(lines) > 0 {
		t.Errorf("functions are missing: %v", lines)
	}
}
