package native

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestOptimized compares with GDB in optimized code, where functions are inlined and moved apart.
func TestOptimized(t *testing.T) {
	specs := []string{
		"total", "one", "many(int)", "most", "most<int>", "hidden", "twice", "thrower", "~Order", "Order::operator()", "viaHidden", "main",
		"shop.cc:16", "shop.cc:18", "shop.cc:29", "shop.cc:31", "shop.cc:37", "shop.cc:38", "shop.cc:39", "shop.cc:43", "shop.cc:48", "shop.cc:53", "shop.cc:57", "shop.cc:66",
	}
	for _, dwarf := range []string{"-gdwarf-4", "-gdwarf-5", "-gno-variable-location-views -gno-statement-frontiers -gno-column-info"} {
		program := build(t, "g++", "shop.cc", append([]string{"-O2", "-g"}, strings.Fields(dwarf)...)...)
		c := open(t, program)
		for spec, want := range gdbBreaks(t, program, specs) {
			places, err := c.Locate(spec)
			if got := addresses(places); !slices.Equal(got, want) {
				t.Errorf("%s, %s: %s, gdb: %s (%v)", dwarf, spec, hex(got), hex(want), err)
			}
		}
		// GDB takes the part that is moved away for the function's prologue.
		cold := symbol(t, program, "_Z7throweri.cold")
		places := c.Line("shop.cc", 47)
		if len(places) != 1 || places[0].Addr < cold.Value || places[0].Addr >= cold.Value+cold.Size || places[0].Line != 47 {
			t.Errorf("%s: the line that throws is at %+v, not in %#x", dwarf, places, cold.Value)
		}
		fn, ok := c.FunctionAt(cold.Value)
		if all := c.Functions("thrower"); !ok || fn.Name != "thrower" || fn.Entry != symbol(t, program, "_Z7throweri").Value || len(all) != 1 || !all[0].Contains(cold.Value) {
			t.Errorf("%s: the moved part is of %+v, the function %+v", dwarf, fn, all)
		}
	}
}

// symbol returns a symbol of a file.
func symbol(t testing.TB, program, name string) elf.Symbol {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := f.Symbols()
	for _, s := range all {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no symbol %s (%v)", name, err)
	return elf.Symbol{}
}

// TestArgumentsStored runs a program and has GDB print arguments where functions end their prologues: a function on one
// line, a method, an instance of a template.
func TestArgumentsStored(t *testing.T) {
	testneed.Ptrace(t)
	values := map[string]map[string]string{ // as main passes them
		"one": {"n": "4"}, "total(int)": {"k": "2"}, "most<int>": {"a": "1", "b": "2"}, "hidden": {"a": "1"}, "many": {"n": "1"}, "main": {"argc": "1"}, "thrower": {"n": "1"},
	}
	for _, compiler := range []string{"g++", "clang"} {
		for _, flags := range [][]string{{"-O0"}, {"-O0", "-fomit-frame-pointer"}, {"-O0", "-fcf-protection=full", "-gdwarf-4"}} {
			program := build(t, compiler, "shop.cc", append(flags, "-g", "-no-pie")...)
			c := open(t, program)
			var script strings.Builder
			for spec, args := range values {
				all := c.Functions(spec)
				if len(all) != 1 {
					t.Fatalf("%s: %+v", spec, all)
				}
				fmt.Fprintf(&script, "break *%#x\ncommands\nsilent\n", all[0].Body)
				for name := range args {
					fmt.Fprintf(&script, "echo ==%s;%s=\noutput %s\necho ==\n", spec, name, name)
				}
				script.WriteString("continue\nend\n")
			}
			script.WriteString("run\n")
			path := filepath.Join(t.TempDir(), "script")
			if err := os.WriteFile(path, []byte(script.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			out, _ := exec.Command(testneed.Tool(t, "gdb"), "-nx", "-batch", "-iex", "set debuginfod enabled off", "-x", path, program).Output()
			for spec, args := range values {
				for name, value := range args {
					if !strings.Contains(string(out), "=="+spec+";"+name+"="+value+"==") {
						t.Errorf("%s %v: %s at %#x: %s is not %s: %s", compiler, flags, spec, c.Functions(spec)[0].Body, name, value, out)
					}
				}
			}
		}
	}
}

// rowIn matches what GDB says of a line's code.
var rowIn = regexp.MustCompile(`Line (\d+) of "([^"]*)" starts at address (0x[0-9a-f]+).* and ends at (0x[0-9a-f]+)`)

// TestRows compares the row of each instruction with what GDB says of its line.
func TestRows(t *testing.T) {
	for _, compiler := range []string{"g++", "clang"} {
		program := build(t, compiler, "shop.cc", "-O0", "-g")
		c := open(t, program)
		var args []string
		asked := 0
		for _, f := range c.Functions("many") {
			for addr := f.Entry; addr < f.Ranges[0].End; addr++ {
				args, asked = append(args, "-ex", fmt.Sprintf("echo == %d\\n", addr), "-ex", fmt.Sprintf("info line *%#x", addr)), asked+1
			}
		}
		out, _ := exec.Command(testneed.Tool(t, "gdb"), append(append([]string{"-nx", "-batch", "-iex", "set debuginfod enabled off"}, args...), program)...).Output()
		compared := 0
		for _, part := range strings.Split(string(out), "== ")[1:] {
			at, rest, _ := strings.Cut(part, "\n")
			addr, _ := strconv.ParseUint(at, 10, 64)
			m := rowIn.FindStringSubmatch(strings.ReplaceAll(rest, "\n", " "))
			if m == nil {
				continue
			}
			compared++
			line, _ := strconv.Atoi(m[1])
			end, _ := strconv.ParseUint(m[4], 0, 64)
			row, ok := c.Row(addr)
			if !ok || row.Line != line || filepath.Base(row.File) != filepath.Base(m[2]) || row.End > end {
				t.Errorf("%s: %#x: %+v, gdb: %s", compiler, addr, row, m[0])
			}
			in := false
			for _, r := range c.LineRanges(addr) {
				in = in || r.Contains(addr)
				for a := r.Start; a < r.End; a++ {
					if other, _ := c.Row(a); other.Line != row.Line {
						t.Errorf("%s: the code of line %d at %#x has line %d at %#x", compiler, row.Line, addr, other.Line, a)
					}
				}
			}
			if !in {
				t.Errorf("%s: %#x is not in the code of its line: %v", compiler, addr, c.LineRanges(addr))
			}
		}
		if compared < asked/2 || compared == 0 {
			t.Errorf("%s: %d of %d instructions compared", compiler, compared, asked)
		}
	}
}

// TestInlinedLine: the code of a line ends where another function is inlined there, and that of a copy where the copy ends.
func TestInlinedLine(t *testing.T) {
	program := build(t, "g++", "shop.cc", "-O2", "-g")
	c := open(t, program)
	for _, copied := range c.Functions("twice") {
		if !copied.Inlined {
			continue
		}
		all := c.FunctionsAt(copied.Entry)
		if len(all) < 2 || all[0].Name != "twice" || all[len(all)-1].Inlined {
			t.Fatalf("at %#x: %+v", copied.Entry, all)
		}
		for _, r := range c.LineRanges(copied.Entry) {
			if !copied.Contains(r.Start) || !copied.Contains(r.End-1) {
				t.Errorf("%#x to %#x is not in the copy at %#x", r.Start, r.End, copied.Ranges)
			}
		}
		outer := all[len(all)-1]
		for addr := outer.Entry; addr < outer.Ranges[0].End; addr++ {
			if copied.Contains(addr) {
				continue
			}
			for _, r := range c.LineRanges(addr) {
				for _, in := range copied.Ranges {
					if r.Start < in.End && in.Start < r.End && c.FunctionsAt(addr)[0].Name != "twice" {
						t.Fatalf("the line's code at %#x, %#x to %#x, has some of the copy in %#x", addr, r.Start, r.End, in)
					}
				}
			}
		}
	}
}

// TestRust: paths of functions, of a trait's and of a generic one, and closures. Addresses are those of symbols.
func TestRust(t *testing.T) {
	for _, level := range []string{"0", "2"} {
		out := filepath.Join(t.TempDir(), "program")
		cmd := exec.Command(testneed.Tool(t, "rustc"), "-g", "-C", "opt-level="+level, "-o", out, "testdata/lib.rs")
		if text, err := cmd.CombinedOutput(); err != nil {
			testneed.LeaveOut(t, "rustc cannot build: %.200s", text)
		}
		c := open(t, out)
		for spec, n := range map[string]int{
			"store::Cart::total": 1, "lib::store::Cart::total": 1, "Cart::total": 1, "Cart::price": 1, "<lib::store::Cart as lib::store::Priced>::price": 1,
			"store::most": 2, "lib::main": 1, "store::most::<u8>": 1, "lib::main::{closure#0}": 1, "store::nothing": 0,
		} {
			var real []Function
			for _, f := range c.Functions(spec) {
				if !f.Inlined {
					real = append(real, f)
				}
			}
			if level == "2" && strings.Contains(spec, "closure") || level == "2" && strings.Contains(spec, "most") {
				continue // inlined, or one for both
			}
			if len(real) != n {
				t.Errorf("opt-level %s: %s: %d functions, want %d: %+v", level, spec, len(real), n, real)
			}
			for _, f := range real {
				if f.Symbol || f.File == "" || f.Line == 0 || f.Body < f.Entry {
					t.Errorf("%s: %+v", spec, f)
				}
			}
		}
		if places := c.Line("lib.rs", 17); len(places) == 0 || places[0].Line != 17 || !strings.HasSuffix(places[0].Function, "Cart::total") {
			t.Errorf("line 17: %+v", places)
		}
	}
}

// TestStripped: functions by symbols alone, and by those in .gnu_debugdata's place, .symtab.
func TestStripped(t *testing.T) {
	program := build(t, "g++", "shop.cc", "-O0", "-g")
	want := make(map[string][]uint64)
	specs := []string{"shop::Order::total", "total(int) const", "most<int>", "many", "hidden", "~Order", "operator()", "one", "many::{lambda(int)#1}"}
	full := open(t, program)
	for _, s := range specs {
		for _, f := range full.Functions(s) {
			want[s] = append(want[s], f.Entry)
		}
	}
	if out, err := exec.Command(testneed.Tool(t, "strip"), "-g", program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c := open(t, program)
	for _, s := range specs {
		var got []uint64
		for _, f := range c.Functions(s) {
			got = append(got, f.Entry)
			if !f.Symbol || f.Line != 0 || f.Body == f.Entry {
				t.Errorf("%s: %+v", s, f)
			}
		}
		if len(got) == 0 || !slices.Equal(got, want[s]) {
			t.Errorf("%s: %s, with debugging information %s", s, hex(got), hex(want[s]))
		}
	}
	if _, err := c.Locate("shop.cc:16"); !errors.Is(err, ErrNoLocation) {
		t.Errorf("a line: %v", err)
	}
}

// TestLocateErrors: what cannot be located says why.
func TestLocateErrors(t *testing.T) {
	c := open(t, build(t, "g++", "shop.cc", "-O0", "-g"))
	for spec, want := range map[string]error{"nothing": ErrNoLocation, "": ErrNoLocation, "shop.cc:100000": ErrNoLocation, "other.cc:1": ErrNoLocation, "*0x1": ErrNoLocation, "hop.cc:16": ErrNoLocation} {
		if found, err := c.Locate(spec); !errors.Is(err, want) || len(found) > 0 {
			t.Errorf("%q: %v, %v", spec, found, err)
		}
	}
	for _, spec := range []string{"*main", "/(/"} {
		if _, err := c.Locate(spec); err == nil || errors.Is(err, ErrNoLocation) {
			t.Errorf("%q: %v", spec, err)
		}
	}
	if all, more := c.Matching(regexp.MustCompile(`^shop::Order::`), 2); len(all) != 2 || !more {
		t.Errorf("2 of the methods: %+v, more %v", all, more)
	}
	if all, more := c.Matching(regexp.MustCompile(`^shop::Order::total$`), 10); len(all) != 2 || more {
		t.Errorf("the methods: %+v, more %v", all, more)
	}
}

// TestClone: a variant of a function, which the compiler has made for the arguments that it is called with, is that function, with
// debugging information and without.
func TestClone(t *testing.T) {
	program := build(t, "gcc", "clones.c", "-O2", "-g")
	want := symbol(t, program, "scaled.constprop.0").Value
	for _, stripped := range []bool{false, true} {
		if stripped {
			run(t, "strip", "-g", program)
		}
		for _, name := range []string{"scaled", "scaled.constprop.0"} {
			if all := open(t, program).Functions(name); len(all) != 1 || all[0].Entry != want || all[0].Symbol != stripped {
				t.Errorf("%s: %+v, want %#x", name, all, want)
			}
		}
	}
}
