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
	g.linef("#ifdef __cplusplus\nextern \"C\" {\n#endif\nvoid stop(void); int f0(int, long);\n#ifdef __cplusplus\n}\n#endif")
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
	for i := functions - 1; i >= 0; i-- {
		g.function(i, i == functions-1)
	}
	g.linef("int main(void) { return f0((int)next(), (long)next()) == 12345; }")
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
	}
	return "(" + of.name + ")next()"
}

// function writes a function with variables of many kinds.
func (g *generator) function(i int, last bool) {
	in := g.IntN(len(g.structs))
	pointed := "struct " + g.structs[in].name
	extra := g.leaf()
	static := "__attribute__((noinline)) static int "
	if g.IntN(4) == 0 {
		static = "static inline __attribute__((always_inline)) int "
	}
	if i == 0 {
		g.linef("int f0(int a0, long a1) {\n\t%s a3 = %s; %s pv; fill%d(&pv); %s *a2 = &pv;", extra.name, random(extra), pointed, in, pointed)
	} else {
		g.linef("%sf%d(int a0, long a1, %s *a2, %s a3) {", static, i, pointed, extra.name)
	}
	type variable struct {
		path string
		of   leafType
	}
	shown := []variable{{"a0", leafType{"int", "%d", ""}}, {"a1", leafType{"long", "%ld", ""}}, {"a3", extra}}
	g.structPaths("(*a2)", in, func(path string, of leafType) { shown = append(shown, variable{path, of}) })
	for n := range 3 + g.IntN(4) {
		name := fmt.Sprintf("v%d_%d", i, n)
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
		g.paths(name, &f, func(path string, of leafType) { shown = append(shown, variable{path, of}) })
	}
	if last {
		g.linef("\tint r = 0; stop();")
	} else {
		g.nextCall(i)
	}
	for _, v := range shown {
		g.leaves++
		g.linef("\tprintf(\"leaf f%d %s %s\\n\", %s%s);", i, v.path, v.of.format, v.of.cast, v.path)
	}
	g.linef("\treturn r + a0;\n}")
}

// nextCall calls the function that was written before.
func (g *generator) nextCall(i int) {
	text := g.out.String()
	at := strings.LastIndex(text, fmt.Sprintf("int f%d(int a0, long a1, struct ", i+1))
	rest := text[at+len(fmt.Sprintf("int f%d(int a0, long a1, struct ", i+1)):]
	of, rest, _ := strings.Cut(rest, " ")
	_, rest, _ = strings.Cut(rest, ", ")
	extra, _, _ := strings.Cut(rest, " a3)")
	value := random(leafType{name: extra})
	g.linef("\tstruct %s passed; fill%s(&passed); int r = f%d(a0 + %d, a1 ^ %d, &passed, %s);", of, of[1:], i+1, g.IntN(9), g.IntN(1000), value)
}
