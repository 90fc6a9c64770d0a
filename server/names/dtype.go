package names

import "strings"

// dBasic are D's types of one letter.
var dBasic = map[byte]string{
	'n': "typeof(null)", 'v': "void", 'g': "byte", 'h': "ubyte", 's': "short", 't': "ushort", 'i': "int", 'k': "uint",
	'l': "long", 'm': "ulong", 'f': "float", 'd': "double", 'e': "real", 'o': "ifloat", 'p': "idouble", 'j': "ireal",
	'q': "cfloat", 'r': "cdouble", 'c': "creal", 'b': "bool", 'a': "char", 'u': "wchar", 'w': "dchar",
}

// dWrapped are types around another, by their first letters.
var dWrapped = map[string]string{"O": "shared(", "x": "const(", "y": "immutable(", "Ng": "inout(", "Nh": "__vector("}

// typ reads a type.
func (d *dName) typ() string {
	if !d.enter() {
		return ""
	}
	defer d.leave()
	for code, open := range dWrapped {
		if d.skip(code) {
			return open + d.typ() + ")"
		}
	}
	c := d.peek()
	if text, ok := dBasic[c]; ok {
		d.at++
		return text
	}
	switch c {
	case 'F', 'U', 'W', 'V', 'R', 'Y':
		return d.functionType()
	case 'Q':
		return d.referred((*dName).typ)
	}
	d.at++
	switch c {
	case 'N':
		return d.noreturn()
	case 'I', 'C', 'S', 'E', 'T':
		return d.qualified(false)
	case 'B':
		return d.tuple()
	case 'z':
		return d.wide()
	}
	return d.compound(c)
}

// compound reads what follows the letter of a type that is made of others.
func (d *dName) compound(c byte) string {
	switch c {
	case 'A':
		return d.typ() + "[]"
	case 'G':
		start := d.at
		for isDigit(d.peek()) {
			d.at++
		}
		length := d.in[start:d.at]
		return d.typ() + "[" + length + "]"
	case 'H':
		key := d.typ()
		return d.typ() + "[" + key + "]"
	case 'P':
		if d.isCallConvention() {
			return d.functionType() + "function"
		}
		return d.typ() + "*"
	case 'D':
		return d.delegate()
	}
	return d.fail()
}

func (d *dName) delegate() string {
	modifiers := d.modifiers()
	if d.peek() == 'Q' {
		return d.referred((*dName).functionType) + "delegate" + modifiers
	}
	return d.functionType() + "delegate" + modifiers
}

func (d *dName) noreturn() string {
	if d.skip("n") {
		return "typeof(*null)"
	}
	return d.fail()
}

// wide reads the rest of a 128-bit integer's type.
func (d *dName) wide() string {
	switch {
	case d.skip("i"):
		return "cent"
	case d.skip("k"):
		return "ucent"
	}
	return d.fail()
}

// referred reads a type where a reference leads. Each must lead further back than the
// one that led to it.
func (d *dName) referred(read func(*dName) string) string {
	if d.at >= d.limit {
		return d.fail()
	}
	to, end, ok := d.reference(d.at)
	if !ok {
		return d.fail()
	}
	limit := d.limit
	d.limit, d.at = d.at, to
	out := read(d)
	d.limit = limit
	if !d.failed {
		d.at = end
	}
	return out
}

func (d *dName) tuple() string {
	var all []string
	for range d.number() {
		if d.failed {
			return ""
		}
		all = append(all, d.typ())
	}
	return "tuple(" + strings.Join(all, ", ") + ")"
}

// modifiers reads those of a function's this: " const".
func (d *dName) modifiers() (out string) {
	for {
		switch {
		case d.skip("x"):
			return out + " const"
		case d.skip("y"):
			return out + " immutable"
		case d.skip("O"):
			out += " shared"
		case d.skip("Ng"):
			out += " inout"
		default:
			return out
		}
	}
}

// dConventions are how functions are called.
var dConventions = map[byte]string{'F': "", 'U': "extern(C) ", 'W': "extern(Windows) ", 'V': "extern(Pascal) ", 'R': "extern(C++) ", 'Y': "extern(Objective-C) "}

func (d *dName) isCallConvention() bool {
	_, ok := dConventions[d.peek()]
	return ok
}

// function reads a function's type up to its result.
func (d *dName) function() (convention, attributes, args string) {
	convention, ok := dConventions[d.peek()]
	if !ok {
		d.fail()
		return "", "", ""
	}
	d.at++
	return convention, d.attributes(), "(" + d.arguments() + ")"
}

// functionType reads all of a function's type, with a space behind it.
func (d *dName) functionType() string {
	convention, attributes, args := d.function()
	return convention + d.typ() + args + " " + attributes
}

var dAttributes = map[string]string{
	"Na": "pure ", "Nb": "nothrow ", "Nc": "ref ", "Nd": "@property ", "Ne": "@trusted ", "Nf": "@safe ", "Ni": "@nogc ",
	"Nj": "return ", "Nl": "scope ", "Nm": "@live ",
}

func (d *dName) attributes() (out string) {
	for d.at+2 <= len(d.in) {
		text, ok := dAttributes[d.in[d.at:d.at+2]]
		if !ok {
			return out
		}
		d.at += 2
		out += text
	}
	return out
}

// arguments reads parameters up to their end.
func (d *dName) arguments() string {
	var out strings.Builder
	for n := 0; !d.failed; n++ {
		switch {
		case d.skip("X"): // of one type
			return out.String() + "..."
		case d.skip("Y"):
			if n > 0 {
				out.WriteString(", ")
			}
			return out.String() + "..."
		case d.skip("Z"):
			return out.String()
		case d.at == len(d.in):
			return d.fail()
		}
		if n > 0 {
			out.WriteString(", ")
		}
		out.WriteString(d.storage())
		out.WriteString(d.typ())
	}
	return ""
}

func (d *dName) storage() (out string) {
	if d.skip("M") {
		out += "scope "
	}
	if d.skip("Nk") {
		out += "return "
	}
	switch {
	case d.skip("I"):
		out += "in "
		if d.skip("K") {
			out += "ref "
		}
	case d.skip("J"):
		out += "out "
	case d.skip("K"):
		out += "ref "
	case d.skip("L"):
		out += "lazy "
	}
	return out
}
