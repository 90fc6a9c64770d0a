//go:build linux

package live

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
)

// TestRelative: a program that is the same in whichever folder it is built has relative paths. An editor shows its files where they
// are found: beside the program, in the current folder, or where substitutePath says; else their names, with lines. A breakpoint in
// such a file holds.
func TestRelative(t *testing.T) {
	_, marks := mixed(t)
	for _, compiler := range []struct{ cc, cxx, version string }{{"gcc", "g++", "5"}, {"clang-19", "clang++-19", "5"}} {
		t.Run(compiler.cc+" DWARF "+compiler.version, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "src")
			t.Setenv("CC", testneed.Tool(t, compiler.cc))
			if compiler.cc == "gcc" {
				t.Setenv("CXX", testneed.Tool(t, compiler.cxx))
			} else {
				t.Setenv("CXX", compiler.cc+" --driver-mode=g++")
			}
			flags := "-O2 -gdwarf-" + compiler.version + " -ffile-prefix-map=" + dir + "=."
			t.Setenv("CGO_CFLAGS", flags)
			t.Setenv("CGO_CXXFLAGS", flags)
			beside, away := filepath.Join(dir, "mixed"), filepath.Join(t.TempDir(), "mixed")
			if err := errors.Join(testkit.Module(dir, "testdata/mixed"), testkit.GoIn(dir, nil, "build", "-o", beside, "."), os.Link(beside, away)); err != nil {
				t.Fatal(err)
			}
			touch := place{filepath.Join(dir, "work.cc"), marks["touch"].line}
			for _, c := range []struct {
				name, folder string // of the files that are expected
				at           target
			}{
				{"not found", "", target{exe: away}},
				{"beside the program", dir, target{exe: beside, breakpoint: touch}},
				{"substitutePath", dir, target{exe: away, sources: dir, breakpoint: touch}},
			} {
				t.Run(c.name, func(t *testing.T) {
					c.at.stop = "callback"
					rows := fromEditor(t, &c.at, "full")
					for _, mark := range []string{"touch", "apply", "work", "run"} {
						want := place{filepath.Join(c.folder, marks[mark].file), marks[mark].line}
						if !slices.ContainsFunc(rows, func(r row) bool { return r.place == want }) {
							t.Errorf("no row of %v: %v", want, rows)
						}
					}
				})
			}
		})
	}
}
