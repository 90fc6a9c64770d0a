package names

import (
	"strconv"
	"strings"
)

// demangleD demangles a name of D's (https://dlang.org/spec/abi.html, "Name
// Mangling"), written as GNU's tools write it. ok is false for what it does not
// know: template arguments that are floating-point numbers, structs or function
// literals, and names that no compiler makes.
func demangleD(name string) (out string, ok bool) {
	if name == "_Dmain" {
		return "D main", true
	}
	d := &dName{in: name, at: len("_D"), limit: len(name)}
	out = d.qualified(true)
	if d.peek() == 'Z' {
		d.at++
	} else {
		d.typ()
	}
	if d.failed || d.at != len(name) || out == "" {
		return "", false
	}
	return d.prefix + strings.ReplaceAll(out, ".\x00", ""), true
}

// Bounds on one name: how deep its parts nest, and how many steps it takes.
const (
	dDepth = 128
	dSteps = 1 << 14
)

// dName is a name that is being read. After a failure nothing is left to read.
type dName struct {
	in     string
	at     int
	limit  int // type references must point before it: none leads to itself
	depth  int
	steps  int
	prefix string // "initializer for "
	failed bool
}

func (d *dName) fail() string {
	d.failed, d.at = true, len(d.in)
	return ""
}

// enter bounds recursion; each call that reports true is followed by leave.
func (d *dName) enter() bool {
	d.steps++
	if d.depth >= dDepth || d.steps > dSteps {
		d.fail()
		return false
	}
	d.depth++
	return true
}

func (d *dName) leave() { d.depth-- }

// peek returns the next byte, 0 at the end.
func (d *dName) peek() byte {
	if d.at < len(d.in) {
		return d.in[d.at]
	}
	return 0
}

func (d *dName) next(text string) bool { return strings.HasPrefix(d.in[d.at:], text) }

func (d *dName) skip(text string) bool {
	if d.next(text) {
		d.at += len(text)
		return true
	}
	return false
}

// number reads a decimal number.
func (d *dName) number() int {
	start := d.at
	for isDigit(d.peek()) {
		d.at++
	}
	n, err := strconv.Atoi(d.in[start:d.at])
	if err != nil || n > len(d.in) {
		d.fail()
		return 0
	}
	return n
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

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

// isName says whether an identifier follows.
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

// reference reads Q and a number in base 26, which counts back from there. It returns
// the place that is meant, and the end of the reference.
func (d *dName) reference(at int) (to, end int, ok bool) {
	n := 0
	for i := at + 1; i < len(d.in) && n < len(d.in); i++ {
		switch c := d.in[i]; {
		case c >= 'A' && c <= 'Z':
			n = n*26 + int(c-'A')
		case c >= 'a' && c <= 'z':
			n = n*26 + int(c-'a')
			return at - n, i + 1, n > 0 && n <= at
		default:
			return 0, 0, false
		}
	}
	return 0, 0, false
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

// isFakeParent says whether a name is there to make another unique.
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
		kind := d.kind()
		d.typ()
		return d.value(kind)
	}
	return d.fail()
}

// kind returns the first letter of the type that follows.
func (d *dName) kind() byte {
	if d.peek() != 'Q' {
		return d.peek()
	}
	to, _, ok := d.reference(d.at)
	if !ok {
		d.fail()
		return 0
	}
	return d.in[to]
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

func (d *dName) mangled() string {
	out := d.qualified(true)
	if !d.skip("Z") {
		d.typ()
	}
	return out
}

// value reads a template's argument of a type.
func (d *dName) value(kind byte) string {
	switch {
	case d.skip("n"):
		return "null"
	case d.skip("i"):
		return d.integer("", kind)
	case d.skip("N"):
		return d.integer("-", kind)
	case isDigit(d.peek()):
		return d.integer("", kind)
	case d.next("a"), d.next("w"), d.next("d"):
		return d.text()
	case kind != 'H' && d.skip("A"):
		return d.array()
	}
	return d.fail()
}

// array reads the values of an array: their number, then each.
func (d *dName) array() string {
	if !d.enter() {
		return ""
	}
	defer d.leave()
	var all []string
	for range d.number() {
		if d.failed {
			return ""
		}
		all = append(all, d.value(0))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// dSuffixes are what integers of a type end in.
var dSuffixes = map[byte]string{'h': "u", 't': "u", 'k': "u", 'l': "L", 'm': "uL"}

func (d *dName) integer(sign string, kind byte) string {
	start := d.at
	for isDigit(d.peek()) {
		d.at++
	}
	digits := d.in[start:d.at]
	if digits == "" {
		return d.fail()
	}
	switch kind {
	case 'a', 'u', 'w':
		c, err := strconv.ParseUint(digits, 10, 8)
		if err != nil || c < ' ' || c > '~' {
			return d.fail()
		}
		return "'" + string(rune(c)) + "'"
	case 'b':
		if digits == "0" {
			return "false"
		}
		return "true"
	}
	return sign + digits + dSuffixes[kind]
}

// text reads a string: its type, its length, and its bytes in hexadecimal.
func (d *dName) text() string {
	kind := d.peek()
	d.at++
	n := d.number()
	if !d.skip("_") || n > (len(d.in)-d.at)/2 {
		return d.fail()
	}
	var out strings.Builder
	out.WriteByte('"')
	for range n {
		c, err := strconv.ParseUint(d.in[d.at:d.at+2], 16, 8)
		if err != nil || c < ' ' || c > '~' {
			return d.fail()
		}
		out.WriteByte(byte(c))
		d.at += 2
	}
	out.WriteByte('"')
	if kind != 'a' {
		out.WriteByte(kind)
	}
	return out.String()
}
