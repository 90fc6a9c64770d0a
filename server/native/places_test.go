package native

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// build compiles a program of testdata.
func build(t testing.TB, compiler, source string, flags ...string) string {
	t.Helper()
	abs, err := filepath.Abs(filepath.Join("testdata", source))
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "program")
	args := slices.Concat(flags, []string{"-o", out, abs, "-lstdc++", "-lm"})
	cmd := exec.Command(testneed.Tool(t, compiler), args...)
	cmd.Dir = filepath.Dir(out) // where clang writes what is split off
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v: %s", compiler, args, err, text)
	}
	return out
}

// addrsIn are the addresses in what gdb says of breakpoints.
var addrsIn = regexp.MustCompile(`(?m)^[0-9.]+ +(?:breakpoint +keep +)?y +(0x[0-9a-f]+) `)

// gdbBreaks returns for each location where gdb sets breakpoints, sorted.
func gdbBreaks(t testing.TB, program string, specs []string) map[string][]uint64 {
	t.Helper()
	args := []string{"-nx", "-batch", "-iex", "set debuginfod enabled off"}
	for _, s := range specs {
		args = append(args, "-ex", "echo == "+s+"\\n", "-ex", "break "+s, "-ex", "info breakpoints", "-ex", "delete")
	}
	out, _ := exec.Command(testneed.Tool(t, "gdb"), append(args, program)...).CombinedOutput()
	found := make(map[string][]uint64)
	for _, part := range strings.Split(string(out), "== ")[1:] {
		spec, rest, _ := strings.Cut(part, "\n")
		found[spec] = nil
		for _, m := range addrsIn.FindAllStringSubmatch(rest, -1) {
			addr, err := strconv.ParseUint(m[1], 0, 64)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(found[spec], addr) {
				found[spec] = append(found[spec], addr)
			}
		}
		slices.Sort(found[spec])
	}
	return found
}

// addresses returns the addresses of places, each once and sorted.
func addresses(places []Place) (out []uint64) {
	for _, p := range places {
		out = append(out, p.Addr)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestUnoptimized compares with where gdb sets breakpoints: C++ with namespaces, lambdas, operators, templates, overloads.
func TestUnoptimized(t *testing.T) {
	specs := []string{
		"shop::Order::total", "Order::total", "total", "total(int) const", "shop::Order::total(double) const", "one", "many", "main",
		"most", "most<int>", "shop::most<double>", "hidden", "shop::(anonymous namespace)::hidden", "(anonymous namespace)::hidden",
		"~Order", "Order::operator()", "operator<", "Order::operator bool", "twice", "thrower", "nothing",
		"shop.cc:16", "shop.cc:18", "shop.cc:29", "shop.cc:31", "shop.cc:38", "shop.cc:43", "shop.cc:47", "shop.cc:52", "shop.cc:54", "shop.cc:57", "shop.cc:58",
	}
	for _, compiler := range []string{"g++", "clang"} {
		for _, dwarf := range []string{"-gdwarf-4", "-gdwarf-5"} {
			t.Run(compiler+dwarf, func(t *testing.T) {
				program := build(t, compiler, "shop.cc", "-O0", "-g", dwarf)
				c := open(t, program)
				for spec, want := range gdbBreaks(t, program, specs) {
					places, err := c.Locate(spec)
					if got := addresses(places); !slices.Equal(got, want) {
						t.Errorf("%s: %s, gdb: %s (%v)", spec, hex(got), hex(want), err)
					}
				}
			})
		}
	}
}

func hex(all []uint64) string { return fmt.Sprintf("%#x", all) }
