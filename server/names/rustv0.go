package names

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// v0 reads a name of version 0 (Rust RFC 2603, "Symbol grammar summary").
type v0 struct {
	in    string
	at    int
	out   strings.Builder
	quiet int    // nothing is written where it is not 0
	bound uint64 // lifetimes that binders around have
	depth int
	steps int
	err   error
}

// Bounds on a name: what short ones can stand for has none.
const (
	maxDepth = 500
	maxSteps = 1 << 17
)

var (
	errSyntax  = errors.New("not a name of Rust's version 0")
	errTooLong = errors.New("too long")
)

// rustV0 reads what is behind _R.
func rustV0(in string) (name string, ok bool) {
	r := v0{in: in}
	if in == "" || in[0] < 'A' || in[0] > 'Z' { // a number would be a later version
		return "", false
	}
	r.path(true)
	if r.err == nil && r.at < len(in) { // the crate that has the instance
		r.quiet++
		r.path(false)
	}
	if errors.Is(r.err, errTooLong) {
		return r.out.String(), true
	}
	return r.out.String(), r.err == nil && r.at == len(in)
}

func (r *v0) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *v0) write(text string) {
	if r.quiet > 0 || r.err != nil {
		return
	}
	if r.out.Len()+len(text) > longest {
		r.fail(errTooLong)
		return
	}
	r.out.WriteString(text)
}

// next returns the next byte, 0 for none.
func (r *v0) next() byte {
	if r.at >= len(r.in) {
		r.fail(errSyntax)
		return 0
	}
	r.at++
	return r.in[r.at-1]
}

// eat passes a byte if it is the next one.
func (r *v0) eat(c byte) bool {
	if r.err != nil || r.at >= len(r.in) || r.in[r.at] != c {
		return false
	}
	r.at++
	return true
}

// enter bounds nesting and work; what it returns leaves.
func (r *v0) enter() func() {
	r.depth++
	r.steps++
	if r.depth > maxDepth || r.steps > maxSteps {
		r.fail(errSyntax)
	}
	return func() { r.depth-- }
}

// until reads a list up to E.
func (r *v0) until(separator string, one func()) (n int) {
	for ; r.err == nil && !r.eat('E'); n++ {
		if n > 0 {
			r.write(separator)
		}
		one()
	}
	return n
}

// base62 reads a number: _ is 0, 0_ is 1.
func (r *v0) base62() (n uint64) {
	if r.eat('_') {
		return 0
	}
	for {
		c := r.next()
		d := strings.IndexByte("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", c)
		switch {
		case c == '_':
			return n + 1
		case d < 0 || n > (math.MaxUint64-uint64(d))/62:
			r.fail(errSyntax)
			return 0
		}
		n = n*62 + uint64(d)
	}
}

// tagged reads a number behind a letter; without it, it is 0.
func (r *v0) tagged(tag byte) uint64 {
	if !r.eat(tag) {
		return 0
	}
	return r.base62() + 1
}

// back reads what lies at an earlier place.
func (r *v0) back(read func()) {
	from := r.at - 1
	to := r.base62()
	if r.err != nil || to >= uint64(from) {
		r.fail(errSyntax)
		return
	}
	if r.quiet > 0 {
		return
	}
	defer r.enter()()
	behind := r.at
	r.at = int(to)
	read()
	r.at = behind
}

// identifier reads a name and the number that tells it from others.
func (r *v0) identifier() (name string, number uint64) {
	number = r.tagged('s')
	return r.plain(), number
}

// plain reads a name.
func (r *v0) plain() string {
	puny := r.eat('u')
	n := 0
	if !r.eat('0') {
		begin := r.at
		for r.at < len(r.in) && r.in[r.at] >= '0' && r.in[r.at] <= '9' {
			r.at++
		}
		var err error
		if n, err = strconv.Atoi(r.in[begin:r.at]); err != nil {
			r.fail(errSyntax)
		}
	}
	r.eat('_')
	if r.err != nil || n > len(r.in)-r.at {
		r.fail(errSyntax)
		return ""
	}
	name := r.in[r.at : r.at+n]
	r.at += n
	if puny {
		return unpuny(name)
	}
	return name
}

// path reads a path; value says that it stands where a value does, in which arguments follow ::.
func (r *v0) path(value bool) {
	defer r.enter()()
	if r.err != nil {
		return
	}
	switch tag := r.next(); tag {
	case 'C':
		name, _ := r.identifier()
		r.write(name)
	case 'N':
		r.nested(value)
	case 'M', 'X', 'Y':
		if tag != 'Y' { // where the impl is
			r.quiet++
			r.tagged('s')
			r.path(false)
			r.quiet--
		}
		r.write("<")
		r.typ()
		if tag != 'M' {
			r.write(" as ")
			r.path(false)
		}
		r.write(">")
	case 'I':
		r.path(value)
		if value {
			r.write("::")
		}
		r.write("<")
		r.until(", ", r.argument)
		r.write(">")
	case 'B':
		r.back(func() { r.path(value) })
	default:
		r.fail(errSyntax)
	}
}

// nested reads a path within another one.
func (r *v0) nested(value bool) {
	space := r.next()
	r.path(value)
	name, number := r.identifier()
	switch {
	case space >= 'A' && space <= 'Z':
		kind := map[byte]string{'C': "closure", 'S': "shim"}[space]
		if kind == "" {
			kind = string(space)
		}
		if name != "" {
			kind += ":" + name
		}
		r.write("::{" + kind + "#" + strconv.FormatUint(number, 10) + "}")
	case space < 'a' || space > 'z':
		r.fail(errSyntax)
	case name != "":
		r.write("::" + name)
	}
}

// argument reads an argument of a generic.
func (r *v0) argument() {
	switch {
	case r.eat('L'):
		r.lifetime(r.base62())
	case r.eat('K'):
		r.constant(false)
	default:
		r.typ()
	}
}

// lifetime writes a lifetime, which counts from the innermost binder.
func (r *v0) lifetime(index uint64) {
	switch {
	case index == 0:
		r.write("'_")
	case index > r.bound:
		r.fail(errSyntax)
	case r.bound-index < 26:
		r.write("'" + string(rune('a'+r.bound-index)))
	default:
		r.write("'_" + strconv.FormatUint(r.bound-index, 10))
	}
}

// binder reads lifetimes that are bound for what follows.
func (r *v0) binder(read func()) {
	n := r.tagged('G')
	if n > maxDepth {
		r.fail(errSyntax)
		return
	}
	if n > 0 {
		r.write("for<")
		for i := range n {
			if i > 0 {
				r.write(", ")
			}
			r.bound++
			r.lifetime(1)
		}
		r.write("> ")
	}
	read()
	r.bound -= n
}
