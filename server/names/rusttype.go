package names

import (
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

var rustTypes = map[byte]string{
	'b': "bool", 'c': "char", 'e': "str", 'u': "()", 'a': "i8", 's': "i16", 'l': "i32", 'x': "i64", 'n': "i128", 'i': "isize",
	'h': "u8", 't': "u16", 'm': "u32", 'y': "u64", 'o': "u128", 'j': "usize", 'f': "f32", 'd': "f64", 'z': "!", 'p': "_", 'v': "...",
}

// typ reads a type.
func (r *v0) typ() {
	defer r.enter()()
	tag := r.next()
	if name := rustTypes[tag]; name != "" {
		r.write(name)
		return
	}
	switch tag {
	case 'R', 'Q':
		r.write("&")
		if r.eat('L') {
			if index := r.base62(); index != 0 {
				r.lifetime(index)
				r.write(" ")
			}
		}
		if tag == 'Q' {
			r.write("mut ")
		}
		r.typ()
	case 'P', 'O':
		r.write(map[byte]string{'P': "*const ", 'O': "*mut "}[tag])
		r.typ()
	case 'A', 'S':
		r.write("[")
		r.typ()
		if tag == 'A' {
			r.write("; ")
			r.constant(true)
		}
		r.write("]")
	case 'T':
		r.write("(")
		if r.until(", ", r.typ) == 1 {
			r.write(",")
		}
		r.write(")")
	case 'F':
		r.binder(r.signature)
	case 'D':
		r.dyn()
	case 'W':
		r.typ()
		r.write(" is ")
		r.pattern()
	case 'B':
		r.back(r.typ)
	default:
		if r.err == nil {
			r.at--
			r.path(false)
		}
	}
}

// pattern reads which values of a type there are.
func (r *v0) pattern() {
	defer r.enter()()
	switch r.next() {
	case 'R':
		r.constant(false)
		r.write("..=")
		r.constant(false)
	case 'O':
		r.until(" | ", r.pattern)
	case 'N':
		r.write("!null")
	default:
		r.fail(errSyntax)
	}
}

// signature reads a function's type.
func (r *v0) signature() {
	if r.eat('U') {
		r.write("unsafe ")
	}
	if r.eat('K') {
		abi := "C"
		if !r.eat('C') {
			abi = strings.ReplaceAll(r.plain(), "_", "-")
		}
		r.write(`extern "` + abi + `" `)
	}
	r.write("fn(")
	r.until(", ", r.typ)
	r.write(")")
	if !r.eat('u') {
		r.write(" -> ")
		r.typ()
	}
}

// dyn reads the type of a trait's object.
func (r *v0) dyn() {
	r.write("dyn ")
	r.binder(func() { r.until(" + ", r.trait) })
	if !r.eat('L') {
		r.fail(errSyntax)
	}
	if index := r.base62(); index != 0 {
		r.write(" + ")
		r.lifetime(index)
	}
}

// trait reads a trait, with the types that it is bound to.
func (r *v0) trait() {
	open := r.openPath()
	for r.eat('p') {
		if open {
			r.write(", ")
		} else {
			r.write("<")
			open = true
		}
		r.write(r.plain() + " = ")
		if r.eat('K') {
			r.constant(false)
		} else {
			r.typ()
		}
	}
	if open {
		r.write(">")
	}
}

// openPath reads a path. Arguments at its end are left open, for more of them.
func (r *v0) openPath() (open bool) {
	defer r.enter()()
	switch {
	case r.err != nil:
	case r.eat('B'):
		r.back(func() { open = r.openPath() })
	case r.eat('I'):
		r.path(false)
		r.write("<")
		r.until(", ", r.argument)
		open = true
	default:
		r.path(false)
	}
	return open
}

// constant reads a value; value says that it stands where values do, not types: there some need no braces.
func (r *v0) constant(value bool) {
	defer r.enter()()
	tag := r.next()
	switch {
	case r.err != nil:
		return
	case tag == 'p':
		r.write("_")
		return
	case tag == 'B':
		r.back(func() { r.constant(value) })
		return
	case strings.IndexByte("aslxnihtmyojbc", tag) >= 0:
		r.scalar(tag)
		return
	}
	if tag == 'R' && r.eat('e') {
		r.write(r.text())
		return
	}
	if !value {
		r.write("{")
	}
	switch tag {
	case 'e':
		r.write("*" + r.text())
	case 'R', 'Q':
		r.write(map[byte]string{'R': "&", 'Q': "&mut "}[tag])
		r.constant(true)
	case 'A':
		r.write("[")
		r.until(", ", func() { r.constant(true) })
		r.write("]")
	case 'T':
		r.write("(")
		if r.until(", ", func() { r.constant(true) }) == 1 {
			r.write(",")
		}
		r.write(")")
	case 'V':
		r.variant()
	default:
		r.fail(errSyntax)
	}
	if !value {
		r.write("}")
	}
}

// variant reads a value of a struct or enum.
func (r *v0) variant() {
	r.path(true)
	switch r.next() {
	case 'U':
	case 'T':
		r.write("(")
		r.until(", ", func() { r.constant(true) })
		r.write(")")
	case 'S':
		r.write(" { ")
		r.until(", ", func() {
			name, _ := r.identifier()
			r.write(name + ": ")
			r.constant(true)
		})
		r.write(" }")
	default:
		r.fail(errSyntax)
	}
}

// hex reads hexadecimal digits up to _.
func (r *v0) hex() string {
	digits, _, ok := strings.Cut(r.in[r.at:], "_")
	if !ok || strings.Trim(digits, "0123456789abcdef") != "" {
		r.fail(errSyntax)
		return ""
	}
	r.at += len(digits) + 1
	return digits
}

// scalar reads a number, a truth value or a character.
func (r *v0) scalar(tag byte) {
	negative := strings.IndexByte("aslxni", tag) >= 0 && r.eat('n')
	digits := r.hex()
	n, ok := new(big.Int).SetString("0"+digits, 16)
	switch {
	case !ok || r.err != nil:
		r.fail(errSyntax)
	case tag == 'b' && n.BitLen() <= 1:
		r.write(strconv.FormatBool(n.Sign() != 0))
	case tag == 'c' && n.BitLen() <= 21 && utf8.ValidRune(rune(n.Int64())):
		r.write(strings.ReplaceAll(strconv.QuoteRune(rune(n.Int64())), `\x00`, `\0`))
	case tag == 'b' || tag == 'c':
		r.fail(errSyntax)
	default:
		if negative {
			r.write("-")
		}
		if n.IsUint64() {
			r.write(n.String())
		} else {
			r.write("0x" + strings.TrimLeft(digits, "0"))
		}
	}
}

// text reads a string's bytes.
func (r *v0) text() string {
	digits := r.hex()
	if len(digits)%2 != 0 {
		r.fail(errSyntax)
		return ""
	}
	out := make([]byte, 0, len(digits)/2)
	for i := 0; i < len(digits); i += 2 {
		b, _ := strconv.ParseUint(digits[i:i+2], 16, 8) // they are hexadecimal
		out = append(out, byte(b))
	}
	if !utf8.Valid(out) {
		r.fail(errSyntax)
	}
	return strconv.Quote(string(out))
}

// unpuny decodes punycode (RFC 3492) with _ for the delimiter. What is none is written as it is.
func unpuny(in string) string {
	const base, tmin, tmax, skew, damp, first, start = 36, 1, 26, 38, 700, 72, 128
	ascii, rest := "", in
	if i := strings.LastIndexByte(in, '_'); i >= 0 {
		ascii, rest = in[:i], in[i+1:]
	}
	out := []rune(ascii)
	wrong := "punycode{" + strings.TrimPrefix(ascii+"-"+rest, "-") + "}"
	n, at, bias := start, 0, first
	for at2, begin := 0, true; at2 < len(rest); begin = false {
		before, weight := at, 1
		for k := base; ; k += base {
			if at2 == len(rest) || len(out) > maxDepth {
				return wrong
			}
			d := strings.IndexByte("abcdefghijklmnopqrstuvwxyz0123456789", rest[at2])
			at2++
			if d < 0 || weight > 1<<24 || at > 1<<24 {
				return wrong
			}
			at += d * weight
			limit := min(max(k-bias, tmin), tmax)
			if d < limit {
				break
			}
			weight *= base - limit
		}
		delta := at - before
		if begin {
			delta /= damp
		} else {
			delta /= 2
		}
		delta += delta / (len(out) + 1)
		bias = 0
		for ; delta > (base-tmin)*tmax/2; bias += base {
			delta /= base - tmin
		}
		bias += (base - tmin + 1) * delta / (delta + skew)
		n += at / (len(out) + 1)
		at %= len(out) + 1
		if !utf8.ValidRune(rune(n)) {
			return wrong
		}
		out = append(out[:at], append([]rune{rune(n)}, out[at:]...)...)
		at++
	}
	return string(out)
}
