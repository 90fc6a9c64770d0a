package dwarfline

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// build runs a compiler on the sources of testdata, in a folder of its own, and
// returns the program.
func build(t testing.TB, tool string, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i, arg := range args {
		if data, err := os.ReadFile(filepath.Join("testdata", arg)); err == nil {
			if err := os.WriteFile(filepath.Join(dir, arg), data, 0o644); err != nil {
				t.Fatal(err)
			}
			args[i] = arg
		}
	}
	run(t, dir, tool, append(args, "-o", "prog")...)
	return filepath.Join(dir, "prog")
}

func run(t testing.TB, dir, tool string, args ...string) {
	t.Helper()
	cmd := exec.Command(tool, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", tool, strings.Join(args, " "), err, out)
	}
}

// TestEqualToLLVM compares every chain with llvm-symbolizer's: depth, names, files,
// lines and columns.
func TestEqualToLLVM(t *testing.T) {
	symbolizer := testneed.Tool(t, "llvm-symbolizer-19")
	for _, c := range []struct{ tool, flags string }{
		{"g++", "-O0 -gdwarf-5"},
		{"g++", "-O2 -gdwarf-4"},
		{"g++", "-O2 -gdwarf-5"},
		{"g++", "-O3 -gdwarf-5 -flto -ffat-lto-objects"},
		{"g++", "-O2 -gdwarf-5 -gsplit-dwarf"},
		{"g++", "-O2 -gdwarf-4 -gsplit-dwarf"},
		{"g++", "-O2 -gdwarf-5 -fdebug-types-section"},
		{"g++", "-O2 -gdwarf-4 -fdebug-types-section"},
		{"g++", "-O2 -gdwarf-5 -gz=zlib"},
		{"g++", "-O2 -gdwarf-4 -gz=zlib-gnu"},
		{"g++", "-O2 -g1"},
		{"clang", "-O0 -gdwarf-5 -lstdc++"},
		{"clang", "-O2 -gdwarf-4 -lstdc++"},
		{"clang", "-O3 -gdwarf-5 -lstdc++"},
		{"clang", "-O2 -gline-tables-only -lstdc++"},
		{"clang-19", "-O2 -gdwarf-5 -lstdc++"},
	} {
		t.Run(c.tool+" "+c.flags, func(t *testing.T) {
			t.Parallel()
			flags := strings.Fields(c.flags)
			prog := build(t, testneed.Tool(t, c.tool), append([]string{"words.cc"}, flags...)...)
			if strings.Contains(c.flags, "zlib-gnu") { // which LLVM no longer reads
				run(t, filepath.Dir(prog), testneed.Tool(t, "objcopy"), "--decompress-debug-sections", prog, prog+".plain")
				equalTo(t, symbolizer, prog, prog+".plain")
				return
			}
			equalToLLVM(t, symbolizer, prog)
		})
	}
}

func equalToLLVM(t *testing.T, symbolizer, prog string) {
	t.Helper()
	equalTo(t, symbolizer, prog, prog)
}

// equalTo compares a program with what LLVM says of plain, which is the same without compression.
func equalTo(t *testing.T, symbolizer, prog, plain string) {
	t.Helper()
	addrs := sample(t, prog, 1500)
	table := openFile(t, prog)
	theirs := askLLVM(t, symbolizer, plain, addrs)
	isSymbol := symbolsOf(t, prog)
	var c tally
	for i, a := range addrs {
		calls, _ := table.Calls(a)
		c.add(a, calls, theirs[i], isSymbol)
	}
	t.Logf("%v", &c)
	if c.same+c.symbol+c.none != c.addrs || c.same+c.symbol < c.addrs/4 {
		t.Errorf("not equal to LLVM:\n%s", strings.Join(c.examples, "\n"))
	}
	for _, err := range table.Problems() {
		t.Error(err)
	}
}

// TestSplitUnits reads units from files of their own, from a package, and says what is
// wrong where they are not there: the line of code that is perhaps inlined is not
// shown as its caller's.
func TestSplitUnits(t *testing.T) {
	symbolizer := testneed.Tool(t, "llvm-symbolizer-19")
	for _, c := range []struct{ tool, pack, version string }{
		{"g++", "dwp", "-gdwarf-4"},
		{"clang", "dwp", "-gdwarf-4"},
		{"clang-19", "llvm-dwp-19", "-gdwarf-5"},
	} {
		t.Run(c.tool+c.version, func(t *testing.T) {
			t.Parallel()
			prog := build(t, testneed.Tool(t, c.tool), "words.cc", "-O2", c.version, "-gsplit-dwarf", "-c")
			dir := filepath.Dir(prog)
			run(t, dir, testneed.Tool(t, c.tool), "prog", "-o", "linked", "-lstdc++")
			prog = filepath.Join(dir, "linked")
			equalToLLVM(t, symbolizer, prog)

			addrs := sample(t, prog, 500)
			want := answers(openFile(t, prog), addrs)
			run(t, dir, testneed.Tool(t, c.pack), "-e", "linked", "-o", "linked.dwp")
			files, _ := filepath.Glob(filepath.Join(dir, "*.dwo"))
			if len(files) == 0 {
				t.Fatal("no .dwo file")
			}
			for _, file := range files {
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
			}
			if got := answers(openFile(t, prog), addrs); !reflect.DeepEqual(got, want) {
				t.Error("the package does not answer as the split files did")
			}
			if err := os.Remove(prog + ".dwp"); err != nil {
				t.Fatal(err)
			}
			table := openFile(t, prog)
			for i, calls := range answers(table, addrs) {
				if len(calls) > 0 && len(want[i]) > 1 {
					t.Fatalf("%#x without split units: %+v, with them %+v", addrs[i], calls, want[i])
				}
			}
			if p := table.Problems(); len(p) != 1 || !strings.Contains(p[0].Error(), ".dwo") {
				t.Errorf("problems: %v", p)
			}
		})
	}
}

func answers(table *Table, addrs []uint64) (all [][]Call) {
	for _, a := range addrs {
		calls, _ := table.Calls(a)
		all = append(all, calls)
	}
	return all
}

// TestAlternateFile reads what dwz has moved to a file that two programs share.
func TestAlternateFile(t *testing.T) {
	gxx, dwz := testneed.Tool(t, "g++"), testneed.Tool(t, "dwz")
	for _, c := range []struct{ version, option string }{{"-gdwarf-4", "-q"}, {"-gdwarf-5", "-q"}, {"-gdwarf-5", "--dwarf-5"}} {
		t.Run(c.version+c.option, func(t *testing.T) {
			t.Parallel()
			one := build(t, gxx, "words.cc", "-O2", c.version)
			dir := filepath.Dir(one)
			run(t, dir, gxx, "words.cc", "-O1", c.version, "-o", "two")
			two := filepath.Join(dir, "two")
			addrs1, addrs2 := sample(t, one, 1500), sample(t, two, 1500)
			want1, want2 := answers(openFile(t, one), addrs1), answers(openFile(t, two), addrs2)
			run(t, dir, dwz, c.option, "-m", "common", "prog", "two")
			for _, p := range []struct {
				prog  string
				addrs []uint64
				want  [][]Call
			}{{one, addrs1, want1}, {two, addrs2, want2}} {
				table := openFile(t, p.prog)
				if got := answers(table, p.addrs); !reflect.DeepEqual(got, p.want) {
					t.Errorf("%s: other answers than before dwz", p.prog)
				}
				if problems := table.Problems(); len(problems) > 0 {
					t.Error(problems)
				}
				if link, ok := AlternateLink(elfOf(t, p.prog)); !ok || link.Name != "common" || len(link.BuildID) != 20 {
					t.Errorf("link %+v, %v", link, ok)
				}
			}
			// Without the file the places stay right, and the reason is named once.
			src := sourceOf(t, one)
			table := New(src)
			answers(table, addrs1)
			if p := table.Problems(); len(p) != 1 || !strings.Contains(p[0].Error(), "alternate file") {
				t.Errorf("without the alternate file: %v", p)
			}
		})
	}
}
