package names

import (
	"debug/elf"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ianlancetaylor/demangle"

	"github.com/clewdbg/clew/internal/testneed"
)

func TestDemangle(t *testing.T) {
	for name, want := range map[string]string{
		"_ZN3foo3barEi":                          "foo::bar(int)",
		"_ZN4core3fmt5write17h0123456789abcdefE": "core::fmt::write",
		"_RNvCs1234_7mycrate3foo":                "mycrate::foo",
		"main.main":                              "main.main",
		"_start":                                 "_start",
		"_D4work5totalFAlCQp4RuleZl":             "_D4work5totalFAlCQp4RuleZl",
		"_Z":                                     "_Z",
	} {
		if got := Demangle(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	// Each S_ stands for all before: a short name for an endless one.
	bomb := "_Z1f1aIiE" + strings.Repeat("S_IS_S_E", 200)
	if n := len(Demangle(bomb)); n > longest && n > len(bomb) {
		t.Errorf("%d bytes of mangled name become %d", len(bomb), n)
	}
}

func TestShort(t *testing.T) {
	for name, want := range map[string]string{
		"main": "main", "_start": "_start", "puts@plt": "puts@plt",
		"main.main":                                            "main.main",
		"main.(*T).Method-fm":                                  "main.(*T).Method-fm",
		"main.F[go.shape.int]":                                 "main.F[go.shape.int]",
		"main.F[go.shape.struct { F func(int) }]":              "main.F[go.shape.struct { F func(int) }]",
		"type:.eq.struct { F func() }":                         "type:.eq.struct { F func() }",
		"main.F[...].func1":                                    "main.F[...].func1",
		"std::vector<int, std::allocator<int> >::size() const": "std::vector::size",
		"void std::sort<int*, main::{lambda(int, int)#1}>(int*, int*, main::{lambda(int, int)#1})": "std::sort",
		"main::{lambda(int, int)#1}::operator()(int, int) const":                                   "main::{lambda()#1}::operator()",
		"app::run(int)::{lambda()#2}::operator()() const::{lambda(char)#1}::_FUN(char)":            "app::run::{lambda()#2}::operator()::{lambda()#1}::_FUN",
		"(anonymous namespace)::foo()":                                                             "(anonymous namespace)::foo",
		"int (anonymous namespace)::foo<int>()":                                                    "(anonymous namespace)::foo",
		"A::operator bool()":                                                                       "A::operator bool",
		"A::operator std::vector<int, std::allocator<int> >()":                                     "A::operator std::vector",
		"std::ostream& operator<< <char>(std::ostream&, A<char> const&)":                           "operator<<",
		"A::operator<(A const&)":                                                                   "A::operator<",
		"A::operator->()":                                                                          "A::operator->",
		"A::operator()(int)":                                                                       "A::operator()",
		"bool operator!=<int>(A<int>, A<int>)":                                                     "operator!=",
		"A::operator<=>(A const&) const":                                                           "A::operator<=>",
		"operator new(unsigned long)":                                                              "operator new",
		"void f<((3)>(2))>()":                                                                      "f",
		"void f<&(A::operator->())>(int)":                                                          "f",
		"decltype (x.f()) g<int>(int)":                                                             "g",
		"f[abi:cxx11](int)":                                                                        "f[abi:cxx11]",
		"non-virtual thunk to A<int>::f(int)":                                                      "non-virtual thunk to A::f",
		"std::function<void (std::string const&)>::operator()(std::string const&) const":           "std::function::operator()",
		"run(int) [clone .cold]":                                                                   "run",
		"operator_name(int)":                                                                       "operator_name",
		// Rust
		"<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop":     "<alloc::vec::Vec as core::ops::drop::Drop>::drop",
		"core::ptr::drop_in_place<alloc::vec::Vec<u8>>":             "core::ptr::drop_in_place",
		"a::f::<i32, b::C<u8>>":                                     "a::f",
		"core::fmt::num::<impl core::fmt::Debug for a::B<u8>>::fmt": "core::fmt::num::<impl core::fmt::Debug for a::B>::fmt",
		"a::main::{closure#0}":                                      "a::main::{closure#0}",
		"a::main::{{closure}}":                                      "a::main::{{closure}}",
		// D
		"std.stdio.writeln!(int, string).writeln(int, string)": "std.stdio.writeln.writeln",
		"app.f(int).g()": "app.f.g",
		// Not understood
		"a<b": "a<b", "f(": "f(", ")": ")", "{": "{", "void (*f(int))(double)": "void (*f(int))(double)", "!": "!", "": "",
	} {
		if got := Short(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// TestShortOfLibrary compares with the demangler's own way to leave parts out, for
// all functions of the C++ library.
func TestShortOfLibrary(t *testing.T) {
	out, err := exec.Command(testneed.Tool(t, "g++"), "-print-file-name=libstdc++.so.6").Output()
	if err != nil {
		t.Fatal(err)
	}
	path, err := filepath.EvalSymlinks(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	lambda := regexp.MustCompile(`\{lambda\(.*?\)#`)
	n := 0
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || !strings.HasPrefix(s.Name, "_Z") {
			continue
		}
		want := demangle.Filter(s.Name, demangle.NoParams, demangle.NoTemplateParams, demangle.NoEnclosingParams)
		want = lambda.ReplaceAllString(want, "{lambda()#")
		if slices.ContainsFunc(special, func(p string) bool { return strings.HasPrefix(want, p) }) {
			want = strings.TrimSuffix(want, " const")
			want, _, _ = strings.Cut(want, "(")
		}
		if n++; Short(Demangle(s.Name)) != want {
			t.Errorf("%s: %q, want %q", Demangle(s.Name), Short(Demangle(s.Name)), want)
		}
	}
	if n < 3000 {
		t.Errorf("%s has %d functions of C++'s", path, n)
	}
}

func FuzzShort(f *testing.F) {
	for _, seed := range []string{"void std::sort<int*>(int*)", "A::operator->()", "<A<B> as C>::d", "a!(b).c(d)", "{lambda(int)#1}::operator()(int) const"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if short := Short(name); len(short) > len(name) || (short == "") != (name == "") {
			t.Errorf("%q: %q", name, short)
		}
	})
}
