package names

// dConventions are how functions are called.
var dConventions = map[byte]string{'F': "", 'U': "extern(C) ", 'W': "extern(Windows) ", 'V': "extern(Pascal) ", 'R': "extern(C++) ", 'Y': "extern(Objective-C) "}

func (c *dCursor) isCallConvention() bool {
	_, ok := dConventions[c.peek()]
	return ok
}

// modifiers reads those of a function's this: " const".
func (c *dCursor) modifiers() (out string) {
	for {
		switch {
		case c.skip("x"):
			return out + " const"
		case c.skip("y"):
			return out + " immutable"
		case c.skip("O"):
			out += " shared"
		case c.skip("Ng"):
			out += " inout"
		default:
			return out
		}
	}
}

var dAttributes = map[string]string{
	"Na": "pure ", "Nb": "nothrow ", "Nc": "ref ", "Nd": "@property ", "Ne": "@trusted ", "Nf": "@safe ", "Ni": "@nogc ",
	"Nj": "return ", "Nl": "scope ", "Nm": "@live ",
}

// attributes reads those of a function.
func (c *dCursor) attributes() (out string) {
	for c.at+2 <= len(c.in) {
		text, ok := dAttributes[c.in[c.at:c.at+2]]
		if !ok {
			return out
		}
		c.at += 2
		out += text
	}
	return out
}

// storage reads how a parameter is passed.
func (c *dCursor) storage() (out string) {
	if c.skip("M") {
		out += "scope "
	}
	if c.skip("Nk") {
		out += "return "
	}
	switch {
	case c.skip("I"):
		out += "in "
		if c.skip("K") {
			out += "ref "
		}
	case c.skip("J"):
		out += "out "
	case c.skip("K"):
		out += "ref "
	case c.skip("L"):
		out += "lazy "
	}
	return out
}
