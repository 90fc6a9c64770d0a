package native

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestBuilds compares with GDB in every form that debugging information comes in: split off, packed, compressed, with type units,
// from the linker's optimizer, with what entries have in common moved away.
func TestBuilds(t *testing.T) {
	specs := []string{"total", "one", "most", "most<int>", "hidden", "twice", "thrower", "~Order", "main", "shop.cc:16", "shop.cc:31", "shop.cc:38", "shop.cc:39", "shop.cc:48", "shop.cc:57"}
	for name, c := range map[string]struct {
		compiler string
		flags    []string
	}{
		"split 4": {"g++", []string{"-gsplit-dwarf", "-gdwarf-4"}}, "split 5": {"g++", []string{"-gsplit-dwarf", "-gdwarf-5"}}, "split, clang": {"clang", []string{"-gsplit-dwarf"}},
		"types": {"g++", []string{"-fdebug-types-section"}}, "types 4": {"g++", []string{"-fdebug-types-section", "-gdwarf-4"}}, "types, clang": {"clang", []string{"-fdebug-types-section"}},
		"compressed": {"g++", []string{"-gz"}}, "LTO": {"g++", []string{"-flto", "-O1"}}, "dwz": {"g++", nil}, "dwz -m": {"g++", nil}, "plain": {"g++", nil},
	} {
		t.Run(name, func(t *testing.T) {
			program := build(t, c.compiler, "shop.cc", slices.Concat([]string{"-O0", "-g"}, c.flags)...)
			switch name {
			case "dwz":
				run(t, "dwz", program)
			case "dwz -m":
				second := program + "2"
				data, err := os.ReadFile(program)
				if err == nil {
					err = os.WriteFile(second, data, 0o700)
				}
				if err != nil {
					t.Fatal(err)
				}
				run(t, "dwz", "-m", filepath.Join(filepath.Dir(program), "common"), program, second)
			}
			c := open(t, program)
			for spec, want := range gdbBreaks(t, program, specs) {
				places, err := c.Locate(spec)
				if got := addresses(places); !slices.Equal(got, want) {
					t.Errorf("%s: %s, gdb: %s (%v)", spec, hex(got), hex(want), err)
				}
			}
			for img := range c.images.Files {
				if problems := img.File.Problems(); len(problems) > 0 {
					t.Errorf("problems: %v", problems)
				}
			}
		})
	}
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(testneed.Tool(t, name), args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
}
