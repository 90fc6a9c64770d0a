package dwarfline

import (
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestUnits: the package and debug/dwarf agree on where units start.
func TestUnits(t *testing.T) {
	cc := testneed.CC(t)
	for _, flag := range []string{"-gdwarf-3", "-gdwarf-4", "-gdwarf-5", "-fdebug-types-section"} {
		dir := t.TempDir()
		var sources []string
		for i := range 3 {
			path := filepath.Join(dir, fmt.Sprintf("s%d.c", i))
			text := fmt.Sprintf("struct s%d { int a, b; } v%d; int f%d(struct s%d *p) { return p->a; }\n", i, i, i, i)
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			sources = append(sources, path)
		}
		out := filepath.Join(dir, "p.so")
		if msg, err := exec.Command(cc, append([]string{"-g", flag, "-shared", "-fPIC", "-o", out}, sources...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, msg)
		}
		f, err := elf.Open(out)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		data, err := f.DWARF()
		if err != nil {
			t.Fatal(err)
		}
		var want []dwarf.Offset
		for r := data.Reader(); ; r.SkipChildren() {
			e, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if e == nil {
				break
			}
			want = append(want, e.Offset)
		}
		table := New(FromELF(f))
		table.listUnits(^uint64(0))
		var got []dwarf.Offset
		for _, u := range table.listed {
			got = append(got, dwarf.Offset(u.first))
		}
		if !slices.Equal(got, want) || len(got) < 3 {
			t.Errorf("%s: units at %v, want %v", flag, got, want)
		}
	}
}
