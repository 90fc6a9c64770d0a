package names

import "testing"

// TestPattern: names as people write them, beside names as demanglers do.
func TestPattern(t *testing.T) {
	for _, c := range []struct {
		name    string
		own     string
		is, not []string // of functions
	}{
		{"total", "total", []string{"total", "total(int)", "shop::Order::total(int) const", "ns::(anonymous namespace)::total()", "int* total<int>(int)", "total[abi:cxx11]()"}, []string{"subtotal", "total::f()", "totals(int)", "f(total)"}},
		{"Order::total", "total", []string{"shop::Order::total(int) const", "shop::Order<int>::total(int)", "Order::total()", "unsigned long shop::Order::total<long>(int*)"}, []string{"Reorder::total()", "shop::total()"}},
		{"shop::Order::total", "total", []string{"shop::Order::total(int) const", "shop::(anonymous namespace)::Order::total(int)"}, []string{"Order::total()"}},
		{"::main", "main", []string{"main"}, nil},
		{"max<int>", "max", []string{"int ns::max<int>(int, int)"}, []string{"long ns::max<long>(long, long)", "max(int)"}},
		{"max<std::pair<int, long> >", "max", []string{"int ns::max<std::pair<int, long>>(int)"}, nil},
		{"f(int)", "f", []string{"f(int)", "ns::f(int)", "int f<long>(int)"}, []string{"f(long)", "f()", "f(int, int)"}},
		{"f(char const *, int)", "f", []string{"f(char const*, int)"}, nil},
		{"f(int) const", "f", []string{"A::f(int) const"}, []string{"A::f(int)"}},
		{"operator()", "operator()", []string{"main::{lambda(int)#1}::operator()(int) const", "A::operator()()"}, nil},
		{"ns::operator()", "operator()", nil, []string{"A::operator()()"}},
		{"{lambda()#1}", "operator()", []string{"main::{lambda(int)#1}::operator()(int) const"}, []string{"main::{lambda(int)#2}::operator()(int) const"}},
		{"main::{lambda(int)#1}", "operator()", []string{"main::{lambda(int)#1}::operator()(int) const"}, []string{"main::{lambda(float)#1}::operator()(float) const"}},
		{"main::{lambda(int)#1}::operator()", "operator()", []string{"main::{lambda(int)#1}::operator()(int) const"}, []string{"main::{lambda(float)#1}::operator()(float) const", "main::{lambda(int)#1}::operator()(int) const::f(int)"}},
		{"{lambda(int)#1}::operator()(int)", "operator()", []string{"main::{lambda(int)#1}::operator()(int)"}, []string{"main::{lambda(int)#1}::operator()(long)"}},
		{"f(int)::{lambda(int)#1}::operator()", "operator()", []string{"f(int)::{lambda(int)#1}::operator()(int) const"}, nil},
		{"f(int)::{lambda(int)#1}::g", "g", []string{"f(int)::{lambda(int)#1}::g(int)"}, nil},
		{"{lambda()}", "operator()", []string{"main::{lambda(int)#2}::operator()(int) const", "f::{lambda()}::operator()() const"}, nil},
		{"many::$_0", "operator()", []string{"many(int)::$_0::operator()(int) const"}, []string{"many(int)::$_1::operator()(int) const"}},
		{"operator<", "operator<", []string{"bool operator< <int>(A<int>, A<int>)", "operator<(A, A)"}, []string{"operator<<(A, A)"}},
		{"operator<<", "operator<<", []string{"ns::operator<<(A, A)"}, []string{"operator<(A, A)"}},
		{"operator->", "operator->", []string{"A::operator->() const"}, nil},
		{"A::operator bool", "operator bool", []string{"ns::A::operator bool() const"}, nil},
		{"operator new", "operator new", []string{"operator new(unsigned long)"}, nil},
		{"~Order", "~Order", []string{"shop::Order::~Order()"}, []string{"shop::Order::Order()"}},
		{"(anonymous namespace)::f", "f", []string{"(anonymous namespace)::f(int)", "ns::(anonymous namespace)::f(int)"}, []string{"ns::f(int)"}},
		{"{anonymous}::f", "f", []string{"(anonymous namespace)::f(int)"}, nil},
		{"crate::module::func", "func", []string{"crate::module::func", "crate::module::func::<u8>"}, []string{"crate::func"}},
		{"func::<u8>", "func", []string{"crate::module::func::<u8>", "crate::module::func<u8>"}, []string{"crate::module::func::<u16>"}},
		{"Foo::method", "method", []string{"<crate::Foo as crate::Trait>::method", "<crate::Foo>::method", "crate::<impl crate::Trait for crate::Foo>::method"}, []string{"<crate::Bar as crate::Foo>::method"}},
		{"<crate::Foo as crate::Trait>::method", "method", []string{"<crate::Foo as crate::Trait>::method"}, []string{"<crate::Foo>::method"}},
		{"main::{closure#0}", "{closure#0}", []string{"krate::main::{closure#0}"}, nil},
		{"main::{{closure}}", "", []string{"krate::main::{{closure}}"}, nil},
		{"", "", nil, []string{"f", "f(int)"}},
	} {
		p := NewPattern(c.name)
		if own := p.Own(); own != c.own {
			t.Errorf("%q: own name %q, want %q", c.name, own, c.own)
		}
		for _, name := range c.is {
			if !p.Matches(name) {
				t.Errorf("%q is not %q", c.name, name)
			}
		}
		for _, name := range c.not {
			if p.Matches(name) {
				t.Errorf("%q is %q", c.name, name)
			}
		}
	}
}

func FuzzPattern(f *testing.F) {
	f.Add("shop::Order<int>::total", "int shop::Order<int>::total(int) const")
	f.Add("operator<", "<a as b>::{lambda(")
	f.Fuzz(func(t *testing.T, name, of string) {
		p := NewPattern(name)
		p.Own()
		p.Matches(of)
		p.Matches(name)
	})
}
