package sframe

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/sframetest"
)

// TestStepKnownBug steps through code that binutils 2.40 is known to get wrong
// (sframetest/testdata/known-bug.s): by the table as it is, the instructions at and
// behind the label wrong have no right rule, and they are refused. So are those around
// them that have the same rule. 2.44 leaves the function out, and version 3 has it
// right.
func TestStepKnownBug(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	for _, c := range []struct {
		version              string
		right, least, refuse int // right in all, holes at least, refused
	}{
		{"v1", 4, 0, 8},
		{"v2", 2, 10, 0},
		{"v3", 12, 0, 0},
	} {
		t.Run(c.version, func(t *testing.T) {
			data, err := sframetest.Read(filepath.Join("testdata", "bug-"+c.version+".gz"))
			if err != nil {
				t.Fatal(err)
			}
			exe := filepath.Join(t.TempDir(), "bug")
			if err := os.WriteFile(exe, data, 0o700); err != nil {
				t.Fatal(err)
			}
			at := symbol(t, exe, "wrong")
			var wrong []string
			got := (&stepProgram{exe: exe, entry: entryOf(t, exe)}).run(t, "amd64", func(pc uint64, problem string) {
				wrong = append(wrong, fmt.Sprintf("wrong+%#x", (pc-at)&0xfff)) // it lies at a page's start
				t.Logf("by_rbx, %#x: %s", pc, problem)
			})
			if len(wrong) > 0 || got.Right != c.right || got.Uncovered < c.least || got.Refused != c.refuse {
				t.Errorf("wrong at %v, %v; want %d right, %d refused", wrong, got, c.right, c.refuse)
			}
		})
	}
}

// symbol returns a symbol's address.
func symbol(t *testing.T, exe, name string) uint64 {
	t.Helper()
	f, err := elf.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Name == name {
			return s.Value
		}
	}
	t.Fatalf("%s has no symbol %s", exe, name)
	return 0
}
