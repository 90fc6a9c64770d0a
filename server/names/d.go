package names

import "strings"

// demangleD demangles a name of D's (https://dlang.org/spec/abi.html, "Name
// Mangling"), written as GNU's tools write it. ok is false for what it does not
// know: template arguments that are floating-point numbers, structs or function
// literals, and names that no compiler makes.
func demangleD(name string) (out string, ok bool) {
	if name == "_Dmain" {
		return "D main", true
	}
	d := &dName{dCursor: dCursor{in: name, at: len("_D"), limit: len(name)}}
	out = d.mangled()
	if d.failed || d.at != len(name) || out == "" {
		return "", false
	}
	return d.prefix + strings.ReplaceAll(out, ".\x00", ""), true
}

// dName is a name that is being read.
type dName struct {
	dCursor
	prefix string // "initializer for "
}

// qualified reads names within names. The parameters of a function around the next
// name belong to its own; suffix keeps the modifiers of its this.
func (d *dName) qualified(suffix bool) string {
	var out strings.Builder
	if !d.enter() {
		return ""
	}
	defer d.leave()
	for first := true; first || d.isName(); {
		if d.peek() == '0' { // anonymous
			for d.peek() == '0' {
				d.at++
			}
			first = false
			continue
		}
		if out.Len() > 0 {
			out.WriteByte('.')
		}
		first = false
		out.WriteString(d.identifier())
		out.WriteString(d.parameters(suffix))
	}
	return out.String()
}

// parameters reads those of a function, if a name or its type follows.
func (d *dName) parameters(suffix bool) string {
	if d.peek() != 'M' && !d.isCallConvention() {
		return ""
	}
	start, modifiers := *d, ""
	if d.skip("M") {
		modifiers = d.modifiers()
	}
	_, _, args := d.function()
	if d.failed || d.at == len(d.in) {
		*d = start
		return ""
	}
	if suffix {
		args += modifiers
	}
	return args
}

// isName reports whether an identifier follows.
func (d *dName) isName() bool {
	if isDigit(d.peek()) || d.next("__T") || d.next("__U") {
		return true
	}
	if d.peek() != 'Q' {
		return false
	}
	at, _, ok := d.reference(d.at)
	return ok && isDigit(d.in[at])
}

// identifier reads one name.
func (d *dName) identifier() string {
	if !d.enter() {
		return ""
	}
	defer d.leave()
	if d.peek() == 'Q' {
		return d.repeated()
	}
	if d.next("__T") || d.next("__U") {
		return d.template(-1)
	}
	n := d.number()
	if n == 0 || n > len(d.in)-d.at {
		return d.fail()
	}
	if isTemplate(d.in[d.at:][:n]) {
		return d.template(n)
	}
	if isFakeParent(d.in[d.at:][:n]) {
		d.at += n
		return d.identifier()
	}
	return d.plain(n)
}

func isTemplate(name string) bool {
	return len(name) >= 5 && (strings.HasPrefix(name, "__T") || strings.HasPrefix(name, "__U"))
}

// isFakeParent reports whether a name is there to make another unique.
func isFakeParent(name string) bool {
	digits, ok := strings.CutPrefix(name, "__S")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// repeated reads a reference to a name that came before.
func (d *dName) repeated() string {
	to, end, ok := d.reference(d.at)
	if !ok || !isDigit(d.in[to]) {
		return d.fail()
	}
	d.at = to
	out := d.plain(d.number())
	if !d.failed {
		d.at = end
	}
	return out
}

// dSpecial are names that the compiler makes.
var dSpecial = map[string]string{"__ctor": "this", "__dtor": "~this", "__postblit": "this(this)"}

// dPrefixes are names of things that belong to what is named before.
var dPrefixes = map[string]string{
	"__init": "initializer for ", "__vtbl": "vtable for ", "__Class": "ClassInfo for ",
	"__Interface": "Interface for ", "__ModuleInfo": "ModuleInfo for ",
}

// plain reads a name of n bytes.
func (d *dName) plain(n int) string {
	if d.failed || n <= 0 || n > len(d.in)-d.at {
		return d.fail()
	}
	name := d.in[d.at:][:n]
	d.at += n
	if text, ok := dPrefixes[name]; ok && d.in[d.at:] == "Z" {
		d.prefix = text
		return "\x00" // dropped with the dot before it
	}
	if name == "__postblit" && !d.skip("MFZ") {
		return name
	}
	if text, ok := dSpecial[name]; ok {
		return text
	}
	return name
}

// template reads an instance; length is that of all of it, or negative if unknown.
func (d *dName) template(length int) string {
	start := d.at
	d.at += len("__T")
	if !d.isName() || d.peek() == '0' {
		return d.fail()
	}
	name := d.identifier()
	var args []string
	for !d.skip("Z") {
		if d.failed || d.at >= len(d.in) {
			return d.fail()
		}
		args = append(args, d.argument())
	}
	if length >= 0 && d.at-start != length {
		return d.fail()
	}
	return name + "!(" + strings.Join(args, ", ") + ")"
}

// argument reads one of a template.
func (d *dName) argument() string {
	if !d.enter() {
		return ""
	}
	defer d.leave()
	d.skip("H") // a specialised parameter
	switch {
	case d.skip("T"):
		return d.typ()
	case d.skip("S"):
		return d.symbol()
	case d.skip("X"):
		n := d.number()
		if n > len(d.in)-d.at {
			return d.fail()
		}
		d.at += n
		return d.in[d.at-n : d.at]
	case d.skip("V"):
		kind := d.typeKind()
		d.typ()
		return dValue{&d.dCursor, kind}.read()
	}
	return d.fail()
}

// symbol reads a template's argument that is a name, in its mangled form or not.
func (d *dName) symbol() string {
	if d.skip("_D") {
		return d.mangled()
	}
	start := *d
	if isDigit(d.peek()) {
		// Compilers up to 2.076 write the length of the mangled name.
		n := d.number()
		if end := d.at + n; !d.failed && d.skip("_D") {
			if out := d.mangled(); !d.failed && d.at == end {
				return out
			}
		}
		*d = start
	}
	return d.qualified(false)
}

// mangled reads a name, and its type or Z.
func (d *dName) mangled() string {
	out := d.qualified(true)
	if !d.skip("Z") {
		d.typ()
	}
	return out
}
