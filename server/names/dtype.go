package names

import "strings"

// dBasic are D's types of one letter.
var dBasic = map[byte]string{
	'n': "typeof(null)", 'v': "void", 'g': "byte", 'h': "ubyte", 's': "short", 't': "ushort", 'i': "int", 'k': "uint",
	'l': "long", 'm': "ulong", 'f': "float", 'd': "double", 'e': "real", 'o': "ifloat", 'p': "idouble", 'j': "ireal",
	'q': "cfloat", 'r': "cdouble", 'c': "creal", 'b': "bool", 'a': "char", 'u': "wchar", 'w': "dchar",
}

// dWords are types of two letters.
var dWords = map[string]string{"Nn": "typeof(*null)", "zi": "cent", "zk": "ucent"}

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
	for code, text := range dWords {
		if d.skip(code) {
			return text
		}
	}
	c := d.peek()
	if text, ok := dBasic[c]; ok {
		d.at++
		return text
	}
	switch {
	case d.isCallConvention():
		return d.functionType()
	case c == 'Q':
		return d.referred((*dName).typ)
	}
	d.at++
	return d.compound(c)
}

// compound reads what follows the letter of a type with a name, or one that is made of
// others.
func (d *dName) compound(c byte) string {
	switch c {
	case 'I', 'C', 'S', 'E', 'T':
		return d.qualified(false)
	case 'B':
		return d.tuple()
	case 'A':
		return d.typ() + "[]"
	case 'G':
		length := d.digits()
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
