package names

import (
	"slices"
	"strings"
)

// Short leaves out of a demangled name what makes it long: template arguments,
// parameters, the return type, and what follows them. Of
//
//	void std::sort<int*, main::{lambda(int, int)#1}>(int*, int*, main::{lambda(int, int)#1})
//
// std::sort is left. Names of C and Go, and those that it does not understand, come
// back as they are.
func Short(name string) string { return shorten(name, shortener{}) }

// shorten is Short that may keep some.
func shorten(name string, s shortener) string {
	if len(name) > longest || !strings.ContainsAny(name, "<({!") || isGo(name) {
		return name
	}
	for _, prefix := range special {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return prefix + shorten(rest, s)
		}
	}
	s.in = name
	if !s.run() || len(s.out) == 0 {
		return name
	}
	return string(s.out)
}

// longest bounds the names that are looked into, in bytes.
const longest = 1 << maxLength

// isGo reports whether a name is one of Go's: a method's receiver stands in
// parentheses behind a dot, type arguments in brackets.
func isGo(name string) bool {
	if strings.Contains(name, ".(") || strings.HasPrefix(name, "type:") {
		return true
	}
	bracket := strings.IndexByte(name, '[')
	return bracket >= 0 && bracket < strings.IndexAny(name+"<", "<({!") &&
		!strings.HasPrefix(name[bracket:], "[abi:") && !strings.HasPrefix(name[bracket:], "[]")
}

// special introduces names of things that compilers add, which have spaces.
var special = []string{
	"non-virtual thunk to ", "virtual thunk to ", "covariant return thunk to ", "invocation function for block in ",
	"guard variable for ", "TLS wrapper function for ", "TLS init function for ", "thread-local wrapper routine for ",
	"thread-local initialization routine for ", "global constructors keyed to ", "global destructors keyed to ",
	"transaction clone for ", "non-transaction clone for ", "vtable for ", "VTT for ", "typeinfo for ", "typeinfo name for ",
}

// shortener copies a name from in to out.
type shortener struct {
	in  string
	at  int
	out []byte

	keepArgs, keepParams bool // of templates, of functions
}

// run reports whether the name was understood.
func (s *shortener) run() bool {
	for s.at < len(s.in) {
		if ok, more := s.step(); !ok || !more {
			return ok
		}
	}
	return true
}

// step reads what begins with the next character. ok says whether it was understood,
// more whether the name goes on after it.
func (s *shortener) step() (ok, more bool) {
	if s.isOperator() {
		s.operator()
		return true, true
	}
	switch c := s.in[s.at]; c {
	case '{':
		return s.braces(), true
	case '<':
		return s.angles(), true
	case '!':
		return s.instance(), true
	case '(':
		return s.parentheses()
	case ' ':
		return s.space(), true
	case '>', ')', '}':
		return false, false
	default:
		s.out = append(s.out, c)
		s.at++
		return true, true
	}
}

// next reports whether the text goes on with t.
func (s *shortener) next(t string) bool { return strings.HasPrefix(s.in[s.at:], t) }

const operatorWord = "operator"

// operators that have characters which mean something else here, a longer one
// before its beginning.
var operators = []string{"()", "<=>", "<<=", ">>=", "->*", "->", "<<", ">>", "<=", ">=", "<", ">", "!=", "!"}

func (s *shortener) isOperator() bool {
	if !s.next(operatorWord) || len(s.out) > 0 && isWord(s.out[len(s.out)-1]) {
		return false
	}
	end := s.at + len(operatorWord)
	return end < len(s.in) && !isWord(s.in[end])
}

// operator copies an operator's name. What follows a space is a type, or new or
// delete: up to the parameters, and its template arguments are left out.
func (s *shortener) operator() {
	s.copy(len(operatorWord))
	for _, o := range operators {
		if s.next(o) {
			s.copy(len(o))
			if s.next(" <") { // template arguments
				s.at++
			}
			return
		}
	}
	if !s.next(" ") {
		return
	}
	for end := s.at + conversionEnd(s.in[s.at:]); s.at < end; {
		if s.in[s.at] == '<' && s.angles() {
			continue
		}
		s.copy(1)
	}
}

// conversionEnd returns where the parameters begin behind the type or word that
// follows "operator". A conversion has none, "()"; of a function's pointer, "()" may
// be part of the type.
func conversionEnd(text string) int {
	if strings.HasPrefix(text, " new") || strings.HasPrefix(text, " delete") {
		return strings.IndexByte(text+"(", '(')
	}
	for at := 0; ; {
		i := strings.Index(text[at:], "()")
		if i < 0 {
			return len(text)
		}
		if at += i; at > 0 && text[at-1] != ')' {
			return at
		}
		at += len("()")
		if strings.HasPrefix(text[at:], "()") {
			return at
		}
	}
}

func (s *shortener) copy(n int) {
	s.out = append(s.out, s.in[s.at:s.at+n]...)
	s.at += n
}

// braces copies {lambda(int)#1}, without its parameters.
func (s *shortener) braces() bool {
	end, ok := s.group(s.at)
	if !ok {
		return false
	}
	inner := s.in[s.at:end]
	if s.keepParams {
		s.out, s.at = append(s.out, inner...), end
		return true
	}
	open, last := strings.IndexByte(inner, '('), strings.LastIndexByte(inner, ')')
	if open >= 0 && last > open {
		inner = inner[:open+1] + inner[last:]
	}
	s.out = append(s.out, inner...)
	s.at = end
	return true
}

// angles leaves out template arguments. What Rust puts in angle brackets in place of
// a name, <T as Trait> and <impl Trait for T>, stays without arguments of its own.
func (s *shortener) angles() bool {
	end, ok := s.group(s.at)
	if !ok {
		return false
	}
	inner := s.in[s.at+1 : end-1]
	s.at = end
	path := strings.HasSuffix(string(s.out), "::")
	switch {
	case len(s.out) == 0, path && strings.HasPrefix(inner, "impl "):
		inside := shortener{in: inner}
		if !inside.types() {
			return false
		}
		s.out = append(s.out, '<')
		s.out = append(append(s.out, inside.out...), '>')
	case path: // f::<T>
		s.out = s.out[:len(s.out)-len("::")]
		fallthrough
	default:
		if s.keepArgs {
			s.out = append(append(append(s.out, '<'), inner...), '>')
		}
	}
	return true
}

// types copies types without their arguments.
func (s *shortener) types() bool {
	for s.at < len(s.in) {
		if s.in[s.at] == '<' && s.at > 0 && (isWord(s.in[s.at-1]) || s.in[s.at-1] == ':') {
			if !s.angles() {
				return false
			}
			continue
		}
		s.copy(1)
	}
	return true
}

// instance leaves out the arguments of D's templates, !(int).
func (s *shortener) instance() bool {
	if s.at+1 == len(s.in) || s.in[s.at+1] != '(' {
		return false
	}
	end, ok := s.group(s.at + 1)
	s.at = end
	return ok
}

// space is behind a return type.
func (s *shortener) space() bool {
	s.at++
	if string(s.out) == "decltype" && s.next("(") {
		end, ok := s.group(s.at)
		s.at = end
		return ok
	}
	s.out = s.out[:0]
	return true
}

const anonymous = "(anonymous namespace)"

// parentheses leaves out parameters. More says whether the name goes on behind them:
// they are those of a function around it, or of decltype.
func (s *shortener) parentheses() (ok, more bool) {
	if s.next(anonymous) {
		s.copy(len(anonymous))
		return true, true
	}
	end, ok := s.group(s.at)
	if !ok || len(s.out) == 0 {
		return false, false
	}
	params := s.in[s.at:end]
	s.at = end
	if string(s.out) == "decltype" {
		return true, true
	}
	s.qualifiers()
	more = s.next("::") || s.next(".") && !s.isClone()
	if s.keepParams && !more {
		s.out = append(s.out, params...)
	}
	return true, more
}

// qualifiers skips what stands between the parameters of a function and a name
// within it.
func (s *shortener) qualifiers() {
	for _, q := range []string{" const", " volatile", " &&", " &"} {
		if rest, found := strings.CutPrefix(s.in[s.at:], q); found && strings.HasPrefix(rest, "::") {
			s.at += len(q)
		}
	}
}

// isClone reports whether the rest is the suffix of a part or variant of a function.
func (s *shortener) isClone() bool {
	return slices.ContainsFunc([]string{".cold", ".part", ".constprop", ".isra"}, s.next)
}

// group returns where the brackets that open at at are closed. In parentheses and
// braces angle brackets do not count: they may be operators there.
func (s *shortener) group(at int) (end int, ok bool) {
	in, opening := s.in, s.in[at]
	closing := map[byte]byte{'<': '>', '(': ')', '{': '}'}[opening]
	for i := at + 1; i < len(in); {
		switch c := in[i]; {
		case c == closing && (c != '>' || in[i-1] != '-'):
			return i + 1, true
		case opens(c, opening):
			if i, ok = s.group(i); !ok {
				return 0, false
			}
		case opening == '<' && !isWord(in[i-1]):
			i += operatorLength(in[i:])
		default:
			i++
		}
	}
	return 0, false
}

// opens reports whether a character opens brackets within those of opening.
func opens(c, opening byte) bool { return c == '(' || c == '{' || c == '<' && opening == '<' }

// operatorLength is how long the operator's name is that text begins with, 1 if it
// begins with none.
func operatorLength(text string) int {
	rest, ok := strings.CutPrefix(text, operatorWord)
	if !ok {
		return 1
	}
	for _, o := range operators {
		if strings.HasPrefix(rest, o) {
			return len(operatorWord) + len(o)
		}
	}
	return len(operatorWord)
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80 || c == '$'
}
