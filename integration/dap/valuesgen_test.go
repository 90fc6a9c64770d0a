package dap

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generated is a program that writes down what its variables hold. Its functions call each other; the last one stops, and
// each writes its variables when the next has returned.
type generated struct {
	source string
	leaves int
}

// generator writes programs. What it makes depends on its seed alone.
type generator struct {
	*rand.Rand
	cxx     bool
	out     strings.Builder
	structs []structType
	leaves  int
	inline  bool // the function that is written
}

// structType is a structure that a program has.
type structType struct {
	name   string
	fields []field
	base   int // of C++: index of the base, -1 for none
}

type field struct {
	name string
	of   leafType
	bits int
	dims []int
	in   int // index of a structure, -1 for a leaf
}

// leafType is a type of a leaf: how it is declared, and how it is written.
type leafType struct{ name, format, cast string }

var integers = []leafType{
	{"signed char", "%d", "(int)"}, {"unsigned char", "%d", "(int)"}, {"short", "%d", "(int)"}, {"unsigned short", "%d", "(int)"}, {"int", "%d", ""}, {"unsigned", "%u", ""},
	{"long", "%ld", ""}, {"unsigned long", "%lu", ""}, {"long long", "%lld", ""}, {"char", "%d", "(int)"},
}

var others = []leafType{
	{"float", "%.9g", "(double)"}, {"double", "%.17g", ""}, {"long double", "%.21Lg", ""}, {"_Bool", "%d", "(int)"}, {"enum E0", "%d", "(int)"}, {"__int128", "%lld", "(long long)"},
	{"T0", "%d", ""}, {"volatile T1", "%ld", ""},
}

func (g *generator) leaf() leafType {
	if g.IntN(3) > 0 {
		return integers[g.IntN(len(integers))]
	}
	l := others[g.IntN(len(others))]
	if g.cxx && l.name == "_Bool" {
		l.name = "bool"
	}
	return l
}

func (g *generator) linef(format string, args ...any) { fmt.Fprintf(&g.out, format+"\n", args...) }

// fieldOf makes a field of a structure with the index at.
func (g *generator) fieldOf(n, at int) field {
	f := field{name: fmt.Sprintf("m%d", n), of: g.leaf(), in: -1}
	switch k := g.IntN(8); {
	case k == 0:
		f.of = integers[g.IntN(len(integers)-1)]
		f.bits = 1 + g.IntN(7)
		f.of.format, f.of.cast = "%ld", "(long)" // a bit field of a long is passed as an int
	case k == 1 && at > 0:
		f.in = g.IntN(at)
	case k == 2:
		f.dims = []int{1 + g.IntN(4)}
	case k == 3:
		f.dims = []int{1 + g.IntN(3), 1 + g.IntN(3)}
	}
	return f
}

func (f *field) declare(g *generator) string {
	name := f.of.name
	if f.in >= 0 {
		name = "struct " + g.structs[f.in].name
	}
	out := name + " " + f.name
	for _, d := range f.dims {
		out += fmt.Sprintf("[%d]", d)
	}
	if f.bits > 0 {
		out += fmt.Sprintf(" : %d", f.bits)
	}
	return out
}

// paths calls each for every leaf below a path.
func (g *generator) paths(path string, f *field, each func(path string, of leafType)) {
	switch {
	case f.in >= 0:
		g.structPaths(path, f.in, each)
	case len(f.dims) == 0:
		each(path, f.of)
	default:
		rest := *f
		rest.dims = f.dims[1:]
		for i := range f.dims[0] {
			g.paths(fmt.Sprintf("%s[%d]", path, i), &rest, each)
		}
	}
}

func (g *generator) structPaths(path string, index int, each func(path string, of leafType)) {
	s := &g.structs[index]
	if s.base >= 0 {
		g.structPaths(path, s.base, each)
	}
	for i := range s.fields {
		g.paths(path+"."+s.fields[i].name, &s.fields[i], each)
	}
}

// program writes a program with so many functions.
func (g *generator) program(functions int) generated {
	g.linef("#include <stdio.h>\nstatic volatile unsigned long seed = %dUL;", g.Uint64()>>1)
	g.linef("static unsigned long next(void) { unsigned long x = seed; x ^= x << 13; x ^= x >> 7; x ^= x << 17; seed = x; return x; }")
	g.linef("enum E0 { E0_a, E0_b = 3, E0_c = 70000 };")
	g.linef("static enum E0 nextE(void) { unsigned long n = next() %% 3; return n == 0 ? E0_a : n == 1 ? E0_b : E0_c; }")
	g.linef("typedef short T0; typedef long T1; typedef int I4 __attribute__((vector_size(16)));")
	g.linef("static volatile signed char global0; volatile unsigned char global1; static volatile short global2; static volatile __thread int own0; volatile __thread unsigned own1; static volatile __thread long own2; static int three = 3; volatile int sink;")
	g.linef("__attribute__((noinline)) void stop(void) { __asm__ volatile(\"int3\" ::: \"memory\"); }")
	for i := range 4 {
		s := structType{name: fmt.Sprintf("S%d", i), base: -1}
		if g.cxx && i > 0 && g.IntN(2) == 0 {
			s.base = g.IntN(i)
		}
		for n := range 2 + g.IntN(4) {
			f := g.fieldOf(n, i)
			f.name = fmt.Sprintf("s%d%s", i, f.name)
			s.fields = append(s.fields, f)
		}
		g.structs = append(g.structs, s)
		head := "struct " + s.name
		if s.base >= 0 {
			head += " : " + g.structs[s.base].name
		}
		g.linef("%s {", head)
		for k := range s.fields {
			g.linef("\t%s;", s.fields[k].declare(g))
		}
		g.linef("};")
		g.linef("__attribute__((noinline)) static void fill%d(struct %s *p) {", i, s.name)
		g.structPaths("(*p)", i, func(path string, of leafType) { g.linef("\t%s = %s;", path, random(of)) })
		g.linef("}")
	}
	var heads [][]argument
	for i := range functions {
		heads = append(heads, g.arguments(i))
	}
	heads = append(heads, nil)
	for i := functions - 1; i >= 0; i-- {
		g.function(i, heads[i], heads[i+1])
	}
	g.linef("int main(void) {")
	var passed []string
	for _, a := range heads[0] {
		g.linef("\t%s", a.before)
		passed = append(passed, a.passed)
	}
	g.linef("\treturn f0(%s) == 12345;\n}", strings.Join(passed, ", "))
	return generated{g.out.String(), g.leaves}
}

// random is an expression for a value that the compiler does not know.
func random(of leafType) string {
	switch of.name {
	case "enum E0":
		return "nextE()"
	case "float", "double", "long double":
		return "(" + of.name + ")((long)next() >> 20) / 1024"
	case "__int128":
		return "(__int128)(long)next()"
	case "bool", "_Bool":
		return "next() & 1"
	case "volatile T1":
		return "(long)next()"
	}
	return "(" + of.name + ")next()"
}

// shown is a variable, or a part of one, that a function writes: by its path for debuggers, and for C.
type shown struct {
	path string
	of   leafType
}

// argument is a parameter of a function.
type argument struct {
	declared string // in the function's head
	shown    []shown
	before   string // what its caller does first
	passed   string
}

// arguments makes those of a function. The names of what callers declare for them end with i.
func (g *generator) arguments(i int) (out []argument) {
	plain := func(name string, of leafType) argument {
		return argument{fmt.Sprintf("%s %s", of.name, name), []shown{{name, of}}, "", random(of)}
	}
	out = append(out, plain("a0", integers[4]), plain("a1", integers[6]))
	in := g.IntN(len(g.structs))
	pointer := argument{declared: fmt.Sprintf("struct S%d *a2", in), before: fmt.Sprintf("struct S%d p%d; fill%d(&p%d);", in, i, in, i), passed: fmt.Sprintf("&p%d", i)}
	g.structPaths("(*a2)", in, func(path string, of leafType) { pointer.shown = append(pointer.shown, shown{path, of}) })
	out = append(out, pointer)
	for n := 3; n < 3+g.IntN(6); n++ {
		name := fmt.Sprintf("a%d", n)
		switch k := g.IntN(6); {
		case k == 0: // a structure by its value
			in := g.IntN(len(g.structs))
			a := argument{declared: fmt.Sprintf("struct S%d %s", in, name), before: fmt.Sprintf("struct S%d q%d_%d; fill%d(&q%d_%d);", in, i, n, in, i, n), passed: fmt.Sprintf("q%d_%d", i, n)}
			g.structPaths(name, in, func(path string, of leafType) { a.shown = append(a.shown, shown{path, of}) })
			out = append(out, a)
		case k == 1: // a pointer to one value
			of := g.leaf()
			out = append(out, argument{of.name + " *" + name, []shown{{"*" + name, of}}, fmt.Sprintf("%s r%d_%d = %s;", of.name, i, n, random(of)), fmt.Sprintf("&r%d_%d", i, n)})
		case k == 2 && g.cxx:
			of := g.leaf()
			out = append(out, argument{of.name + " &" + name, []shown{{name, of}}, fmt.Sprintf("%s r%d_%d = %s;", of.name, i, n, random(of)), fmt.Sprintf("r%d_%d", i, n)})
		default:
			out = append(out, plain(name, g.leaf()))
		}
	}
	return out
}

// function writes a function with variables of many kinds. next are the arguments of the one that it calls, nil for the last.
func (g *generator) function(i int, own, next []argument) {
	static := "__attribute__((noinline)) static int "
	g.inline = g.IntN(4) == 0
	if g.inline {
		static = "static inline __attribute__((always_inline)) int "
	}
	var heads []string
	var all []shown
	for _, a := range own {
		heads = append(heads, a.declared)
		all = append(all, a.shown...)
	}
	g.linef("%sf%d(%s) {", static, i, strings.Join(heads, ", "))
	for n := range 3 + g.IntN(5) {
		all = append(all, g.variable(i, n)...)
	}
	close := ""
	if g.IntN(3) == 0 { // what hides another
		of := g.leaf()
		g.linef("\tsink += a0; int r = 0;\n\t{ %s a0 = %s;", of.name, random(of))
		all[0] = shown{"a0", of}
		close = "}"
	} else {
		g.linef("\tint r = 0;")
	}
	if next == nil {
		g.linef("\tstop();")
	} else {
		var passed []string
		for _, a := range next {
			g.linef("\t%s", a.before)
			passed = append(passed, a.passed)
		}
		g.linef("\tr = f%d(%s);", i+1, strings.Join(passed, ", "))
	}
	for _, v := range all {
		g.leaves++
		g.linef("\tprintf(\"leaf f%d %s %s\\n\", %s%s);", i, v.path, v.of.format, v.of.cast, v.path)
	}
	g.linef("\t%s return r + 1;\n}", close)
}

// variable writes a variable of a function.
func (g *generator) variable(i, n int) (all []shown) {
	name := fmt.Sprintf("v%d_%d", i, n)
	switch of := g.leaf(); g.IntN(14) {
	case 0: // elements whose count is decided at run time
		g.linef("\t%s %s[three];", of.name, name)
		for k := range 3 {
			path := fmt.Sprintf("%s[%d]", name, k)
			g.linef("\t%s = %s;", path, random(of))
			all = append(all, shown{path, of})
		}
		return all
	case 1:
		of = integers[4]
		g.linef("\tI4 %s = {(int)next(), (int)next(), (int)next(), (int)next()};", name)
		for k := range 4 {
			all = append(all, shown{fmt.Sprintf("%s[%d]", name, k), of})
		}
		return all
	case 2:
		if g.inline {
			break // clang-19 describes it outside of the function
		}
		g.linef("\tstatic %s %s; %s = %s;", of.name, name, name, random(of))
		return []shown{{name, of}}
	case 3:
		g.linef("\t%s at%s = %s; %s *const %s = &at%s;", of.name, name, random(of), of.name, name, name)
		return []shown{{"*" + name, of}, {"at" + name, of}}
	case 4:
		g.linef("\tconst %s %s = (%s)%d;", of.name, name, of.name, g.IntN(3))
		if of.name == "enum E0" {
			of.name = "int"
		}
		return []shown{{name, of}}
	case 5:
		k := g.IntN(3)
		g.linef("\tglobal%d = %s; own%d = %s;", k, random(integers[k]), k, random(integers[k+4]))
		return []shown{{fmt.Sprintf("global%d", k), integers[k]}, {fmt.Sprintf("own%d", k), integers[k+4]}}
	}
	f := g.fieldOf(n, len(g.structs))
	for f.bits > 0 {
		f = g.fieldOf(n, len(g.structs))
	}
	f.name = name
	if f.in >= 0 {
		g.linef("\t%s; fill%d(&%s);", f.declare(g), f.in, name)
	} else {
		g.linef("\t%s;", f.declare(g))
		g.paths(name, &f, func(path string, of leafType) {
			switch {
			case g.IntN(6) == 0 && of.name == "int":
				g.linef("\t%s = a0 * %d + 1;", path, g.IntN(100))
			case g.IntN(6) == 0 && of.name != "enum E0" && of.cast != "(double)":
				g.linef("\t%s = (%s)%d;", path, of.name, g.IntN(100))
			default:
				g.linef("\t%s = %s;", path, random(of))
			}
		})
	}
	g.paths(name, &f, func(path string, of leafType) { all = append(all, shown{path, of}) })
	return all
}
