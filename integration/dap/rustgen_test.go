package dap

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// rustTypes are those of leaves: all are Copy, and are written by "{}".
var rustTypes = []string{"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "isize", "usize", "i128", "u128", "f32", "f64", "bool"}

// rustGenerator writes programs in Rust that write down what they hold.
type rustGenerator struct {
	*rand.Rand
	out     strings.Builder
	structs [][]rustField
}

// rustField is a member, or a variable: of a leaf's type, an array, a tuple, an option, or a structure.
type rustField struct{ name, of string }

func (g *rustGenerator) linef(format string, args ...any) { fmt.Fprintf(&g.out, format+"\n", args...) }

// typed makes a type; structures up to the one with the index at can be in it.
func (g *rustGenerator) typed(at int) string {
	leaf := rustTypes[g.IntN(len(rustTypes))]
	switch g.IntN(9) {
	case 0:
		return fmt.Sprintf("[%s; %d]", leaf, 1+g.IntN(4))
	case 1:
		return fmt.Sprintf("(%s, %s)", leaf, rustTypes[g.IntN(len(rustTypes))])
	case 2:
		return fmt.Sprintf("Option<%s>", leaf)
	case 3, 4:
		if at > 0 {
			return fmt.Sprintf("S%d", g.IntN(at))
		}
	}
	return leaf
}

// made is an expression for a value of a type that the compiler does not know.
func (g *rustGenerator) made(of string) string {
	switch {
	case of[0] == '[':
		leaf, n, _ := strings.Cut(of[1:len(of)-1], "; ")
		var all []string
		for range int(n[0] - '0') {
			all = append(all, g.made(leaf))
		}
		return "[" + strings.Join(all, ", ") + "]"
	case of[0] == '(':
		a, b, _ := strings.Cut(of[1:len(of)-1], ", ")
		return "(" + g.made(a) + ", " + g.made(b) + ")"
	case strings.HasPrefix(of, "Option<"):
		return "Some(" + g.made(of[7:len(of)-1]) + ")"
	case of[0] == 'S':
		return "make" + of[1:] + "()"
	case of == "bool":
		return "next() & 1 == 1"
	case of[0] == 'f':
		return "(next() as i64 >> 20) as " + of + " / 1024.0"
	case of == "i128":
		return "next() as i64 as i128 * 77"
	}
	return "next() as " + of
}

// leaves calls each with every leaf of a value: its path for debuggers, and as Rust reads it, whose type is of.
func (g *rustGenerator) leaves(path, rust, of string, each func(path, rust, of string)) {
	switch {
	case of[0] == '[':
		leaf, n, _ := strings.Cut(of[1:len(of)-1], "; ")
		for i := range int(n[0] - '0') {
			each(fmt.Sprintf("%s[%d]", path, i), fmt.Sprintf("%s[%d]", rust, i), leaf)
		}
	case of[0] == '(':
		a, b, _ := strings.Cut(of[1:len(of)-1], ", ")
		each(path+".0", rust+".0", a)
		each(path+".1", rust+".1", b)
	case strings.HasPrefix(of, "Option<"):
		each(path+".Some.0", rust+".unwrap()", of[7:len(of)-1])
	case of[0] == 'S':
		for _, f := range g.structs[of[1]-'0'] {
			g.leaves(path+"."+f.name, rust+"."+f.name, f.of, each)
		}
	default:
		each(path, rust, of)
	}
}

// program writes a program with so many functions.
func (g *rustGenerator) program(functions int) string {
	g.linef("#![allow(warnings)]\nuse std::arch::asm; use std::sync::atomic::{AtomicU64, Ordering};\nstatic SEED: AtomicU64 = AtomicU64::new(%d);", g.Uint64()>>1)
	g.linef("fn next() -> u64 { let mut x = SEED.load(Ordering::Relaxed); x ^= x << 13; x ^= x >> 7; x ^= x << 17; SEED.store(x, Ordering::Relaxed); x }")
	g.linef("#[inline(never)] fn stop() { unsafe { asm!(\"int3\") } }")
	for i := range 4 {
		var fields []rustField
		for n := range 2 + g.IntN(4) {
			fields = append(fields, rustField{fmt.Sprintf("s%dm%d", i, n), g.typed(i)})
		}
		g.structs = append(g.structs, fields)
		g.linef("#[derive(Clone, Copy)] struct S%d {", i)
		for _, f := range fields {
			g.linef("\t%s: %s,", f.name, f.of)
		}
		g.linef("}\n#[inline(never)] fn make%d() -> S%d {\n\tS%d {", i, i, i)
		for _, f := range fields {
			g.linef("\t\t%s: %s,", f.name, g.made(f.of))
		}
		g.linef("\t}\n}")
	}
	var heads [][]rustField
	for range functions {
		head := []rustField{{"a0", "i32"}, {"a1", "u64"}, {"a2", fmt.Sprintf("&S%d", g.IntN(4))}}
		for n := range g.IntN(4) {
			head = append(head, rustField{fmt.Sprintf("a%d", n+3), g.typed(4)})
		}
		heads = append(heads, head)
	}
	for i, head := range heads {
		g.function(i, head, heads[i+1:])
	}
	g.linef("fn main() {")
	g.call(0, heads[0])
	g.linef("\tstd::process::exit((r == 1) as i32)\n}")
	return g.out.String()
}

// call calls a function with arguments that it makes.
func (g *rustGenerator) call(i int, head []rustField) {
	var passed []string
	for _, a := range head {
		if a.of[0] == '&' {
			g.linef("\tlet p%d = %s;", i, g.made(a.of[1:]))
			passed = append(passed, fmt.Sprintf("&p%d", i))
		} else {
			passed = append(passed, g.made(a.of))
		}
	}
	g.linef("\tlet r = f%d(%s);", i, strings.Join(passed, ", "))
}

func (g *rustGenerator) function(i int, head []rustField, next [][]rustField) {
	var declared []string
	for _, a := range head {
		declared = append(declared, a.name+": "+a.of)
	}
	inline := "never"
	if g.IntN(4) == 0 {
		inline = "always"
	}
	g.linef("#[inline(%s)] fn f%d(%s) -> u64 {", inline, i, strings.Join(declared, ", "))
	all := head
	for n := range 3 + g.IntN(5) {
		f := rustField{fmt.Sprintf("v%d_%d", i, n), g.typed(4)}
		g.linef("\tlet %s: %s = %s;", f.name, f.of, g.made(f.of))
		all = append(all, f)
	}
	if len(next) == 0 {
		g.linef("\tstop(); let r = a1;")
	} else {
		g.call(i+1, next[0])
	}
	for _, f := range all {
		path, of := f.name, f.of
		if of[0] == '&' {
			path, of = "(*"+f.name+")", of[1:]
		}
		g.leaves(path, path, of, func(path, rust, _ string) { g.linef("\tprintln!(\"leaf f%d %s {}\", {%s});", i, path, rust) })
	}
	g.linef("\tr.wrapping_add(1)\n}")
}

// rustModes are those in which programs of Rust are compiled.
var rustModes = []string{"opt-level=0", "opt-level=2", "opt-level=3", "opt-level=1", "opt-level=2 dwarf-version=4", "opt-level=s", "opt-level=3 lto=fat", "opt-level=0 dwarf-version=5"}

// TestRustLeaves is [TestValues] for programs of Rust.
func TestRustLeaves(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	rustc := testneed.Tool(t, "rustc")
	p := otherDebuggers{gdb: testneed.Tool(t, "gdb")}
	c := comparison{counts: make(map[string]*[3]valueCount), lacks: make(map[string]int)}
	for i := *valuesFrom; i < *valuesFrom+(*valuePrograms+3)/4; i++ {
		mode := rustModes[i%len(rustModes)]
		g := rustGenerator{Rand: rand.New(rand.NewPCG(uint64(i), 131))}
		dir := t.TempDir()
		if *valuesKept != "" {
			dir = *valuesKept
		}
		source, exe := filepath.Join(dir, "g.rs"), filepath.Join(dir, "grs")
		if err := os.WriteFile(source, []byte(g.program(6)), 0o644); err != nil {
			t.Fatal(err)
		}
		args := []string{"-g", "--edition", "2021", "-o", exe, source}
		for _, option := range strings.Fields(mode) {
			args = append(args, "-C", option)
		}
		out, err := exec.Command(rustc, args...).CombinedOutput()
		if err != nil && strings.Contains(string(out), "dwarf-version") { // older compilers have no such option
			out, err = exec.Command(rustc, args[:len(args)-2]...).CombinedOutput()
		}
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		c.program(t, p, exe, exe, fmt.Sprintf("rustc %s, seed %d", mode, i), "-O"+strings.TrimPrefix(strings.Fields(mode)[0], "opt-level="))
	}
	c.report(t)
}
