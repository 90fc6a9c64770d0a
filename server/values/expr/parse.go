package expr

import (
	"fmt"
	"strconv"
	"strings"
)

// Node is an expression.
type Node interface{ node() }

// The kinds of expressions.
type (
	// Name is a variable, with its scopes: "ns::var". File is the file that a static is of, "" for any.
	Name struct{ File, Name string }
	// Register is a register of the frame.
	Register struct{ Name string }
	// Number is a literal; a character is one of type char.
	Number struct {
		Integer  uint64
		Float    float64
		IsFloat  bool
		Unsigned bool
		Long     bool   // it has the suffix of a long
		Hex      bool   // it is hexadecimal, octal or binary, and may be unsigned without a suffix
		Type     string // "", or the type that it is of: "char", "bool", "float", Rust's "u8"
	}
	// Member is a member of a value, or with Arrow of what a pointer points to.
	Member struct {
		Of    Node
		Name  string
		Arrow bool
	}
	// Index is an element; with Upto, elements from At up to, and without, Upto.
	Index struct{ Of, At, Upto Node }
	// Unary is an operation on one value: - + ! ~ * &.
	Unary struct {
		Op string
		Of Node
	}
	// Binary is an operation on two.
	Binary struct {
		Op   string
		A, B Node
	}
	// Conditional is If ? A : B.
	Conditional struct{ If, A, B Node }
	// Text is a text in quotation marks.
	Text struct{ Text string }
	// Cast converts a value to a type. How is "", or the word with which C++ says it: "reinterpret_cast".
	Cast struct {
		To  Type
		Of  Node
		How string
	}
	// Sizeof is the size of a value or, where Of is nil, of a type.
	Sizeof struct {
		Of Node
		To Type
	}
	// Call is what may not be called: with the name of what would be.
	Call struct {
		Of   Node
		Name string
	}
)

func (Name) node()        {}
func (Register) node()    {}
func (Number) node()      {}
func (Member) node()      {}
func (Index) node()       {}
func (Unary) node()       {}
func (Binary) node()      {}
func (Conditional) node() {}
func (Text) node()        {}
func (Cast) node()        {}
func (Sizeof) node()      {}
func (Call) node()        {}

// Type is a type's name, and how many pointers lead to it. Reference says that a reference to that is meant.
type Type struct {
	Name      string
	Pointers  int
	Reference bool
}

// Parse reads an expression. isType says whether a name is a type's: (name)-x is a cast then.
func Parse(text string, isType func(name string) bool) (Node, error) {
	tokens, err := scan(text)
	if err != nil {
		return nil, err
	}
	p := parser{text: text, tokens: tokens, isType: isType}
	n, err := p.whole(0)
	if err != nil {
		return nil, err
	}
	if p.now().kind != end {
		return nil, p.fail("this does not belong to an expression")
	}
	return n, nil
}

type parser struct {
	text   string
	tokens []token
	at     int
	isType func(string) bool
}

func (p *parser) now() token  { return p.tokens[p.at] }
func (p *parser) next() token { t := p.tokens[p.at]; p.at = min(p.at+1, len(p.tokens)-1); return t }

func (p *parser) fail(format string, args ...any) error {
	return &Error{p.text, p.now().at, fmt.Sprintf(format, args...)}
}

// take reads a sign if it is next.
func (p *parser) take(s string) bool {
	if t := p.now(); t.kind == sign && t.text == s {
		p.next()
		return true
	}
	return false
}

// levels are the operations on two values, from those that bind least.
var levels = [][]string{{"||"}, {"&&"}, {"|"}, {"^"}, {"&"}, {"==", "!="}, {"<", ">", "<=", ">="}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}}

// whole reads an expression of any kind.
func (p *parser) whole(deeper int) (Node, error) {
	n, err := p.binary(0, deeper)
	if err != nil || !p.take("?") {
		return n, err
	}
	a, err := p.whole(deeper + 1)
	if err != nil {
		return nil, err
	}
	if !p.take(":") {
		return nil, p.fail(": is missing")
	}
	b, err := p.whole(deeper + 1)
	return Conditional{n, a, b}, err
}

func (p *parser) binary(level, deeper int) (Node, error) {
	if deeper > maxNested {
		return nil, p.fail("too many expressions within each other")
	}
	if level == len(levels) {
		n, err := p.unary(deeper + 1)
		for err == nil && p.now().kind == name && p.now().text == "as" { // Rust's cast
			p.next()
			to, ok := p.typeName()
			if !ok {
				return nil, p.fail("a type is missing")
			}
			n = Cast{To: to, Of: n, How: "as"}
		}
		return n, err
	}
	a, err := p.binary(level+1, deeper)
	for err == nil {
		op := ""
		for _, s := range levels[level] {
			if p.take(s) {
				op = s
				break
			}
		}
		if op == "" {
			return a, nil
		}
		var b Node
		if b, err = p.binary(level+1, deeper); err == nil {
			a = Binary{op, a, b}
		}
	}
	return nil, err
}

func (p *parser) unary(deeper int) (Node, error) {
	if deeper > maxNested {
		return nil, p.fail("too many expressions within each other")
	}
	for _, s := range []string{"-", "+", "!", "~", "*", "&"} {
		if p.take(s) {
			of, err := p.unary(deeper + 1)
			return Unary{s, of}, err
		}
	}
	if p.take("&&") {
		return nil, p.fail("the address of an address")
	}
	if t := p.now(); t.kind == name && t.text == "sizeof" {
		p.next()
		if to, ok := p.inBrackets(); ok {
			return Sizeof{To: to}, nil
		}
		of, err := p.unary(deeper + 1)
		return Sizeof{Of: of}, err
	}
	if to, ok := p.inBrackets(); ok {
		of, err := p.unary(deeper + 1)
		return Cast{To: to, Of: of}, err
	}
	return p.postfix(deeper + 1)
}

// inBrackets reads a type in brackets, if that is next.
func (p *parser) inBrackets() (t Type, ok bool) {
	before := p.at
	if p.take("(") {
		if t, ok = p.typeName(); ok && p.take(")") {
			return t, true
		}
	}
	p.at = before
	return Type{}, false
}

// words are those that types of C are named with.
var words = map[string]bool{"unsigned": true, "signed": true, "long": true, "short": true, "int": true, "char": true, "float": true, "double": true, "void": true,
	"const": true, "volatile": true, "struct": true, "class": true, "union": true, "enum": true, "_Bool": true, "bool": true, "__int128": true, "mut": true}

// skipped are words that change nothing here.
var skipped = map[string]bool{"const": true, "volatile": true, "struct": true, "class": true, "union": true, "enum": true, "mut": true}

// typeName reads a type's name and its pointers.
func (p *parser) typeName() (t Type, ok bool) {
	pointers := 0
	for p.take("*") || p.take("&") { // Rust writes them first
		for p.now().kind == name && skipped[p.now().text] {
			p.next()
		}
		pointers++
	}
	var parts []string
	for p.now().kind == name && words[p.now().text] {
		if w := p.next().text; !skipped[w] {
			parts = append(parts, w)
		}
	}
	if len(parts) == 0 {
		full, ok := p.scoped()
		if !ok || !p.isType(full) {
			return t, false
		}
		parts = []string{full}
	}
	for p.now().kind == name && skipped[p.now().text] {
		p.next()
	}
	for p.take("*") {
		pointers++
		for p.now().kind == name && skipped[p.now().text] {
			p.next()
		}
	}
	reference := p.take("&") || p.take("&&")
	return Type{strings.Join(parts, " "), pointers, reference}, true
}

// casts are the words with which C++ says how a value is converted.
var casts = map[string]bool{"static_cast": true, "const_cast": true, "reinterpret_cast": true, "dynamic_cast": true}

// cast reads the rest of static_cast<T>(x).
func (p *parser) cast(deeper int) (Node, error) {
	how := p.next().text
	if !p.take("<") {
		return nil, p.fail("< is missing")
	}
	to, ok := p.typeName()
	if !ok || !p.take(">") {
		return nil, p.fail("the type that it is converted to is missing")
	}
	if !p.take("(") {
		return nil, p.fail("( is missing")
	}
	of, err := p.whole(deeper + 1)
	if err != nil {
		return nil, err
	}
	if !p.take(")") {
		return nil, p.fail(") is missing")
	}
	return Cast{to, of, how}, nil
}

// scoped reads a name with its scopes and, for types, what stands between < and >.
func (p *parser) scoped() (full string, ok bool) {
	p.take("::")
	for {
		if p.now().kind != name {
			return "", false
		}
		full += p.next().text
		if t := p.now(); t.kind == sign && t.text == "<" {
			if n := p.template(); n > 0 && p.isType(full+p.text[t.at:p.tokens[n].at]+">") {
				full += p.text[t.at:p.tokens[n].at] + ">"
				p.at = n + 1
			}
		}
		if !p.take("::") {
			return full, true
		}
		full += "::"
	}
}

// template returns the token that closes what a < opens, 0 where it is a comparison.
func (p *parser) template() int {
	depth := 0
	for i := p.at; i < len(p.tokens); i++ {
		switch t := p.tokens[i]; {
		case t.kind == sign && t.text == "<":
			depth++
		case t.kind == sign && t.text == ">":
			if depth--; depth == 0 {
				return i
			}
		case t.kind == sign && (t.text == "&&" || t.text == "||" || t.text == "==" || t.text == ">>"), t.kind == end:
			return 0
		}
	}
	return 0
}

func (p *parser) postfix(deeper int) (Node, error) {
	n, err := p.primary(deeper)
	for err == nil {
		switch {
		case p.take("."):
			n, err = p.member(n, false)
		case p.take("->"):
			n, err = p.member(n, true)
		case p.take("["):
			n, err = p.index(n, deeper)
		case p.take("("):
			what := ""
			switch of := n.(type) {
			case Name:
				what = of.Name
			case Member:
				what, n = of.Name, of.Of
			}
			if !p.take(")") || what == "" {
				return nil, p.fail("nothing is called: a call would run code of the program")
			}
			n = Call{n, what}
		default:
			return n, nil
		}
	}
	return nil, err
}

func (p *parser) member(of Node, arrow bool) (Node, error) {
	switch t := p.next(); t.kind {
	case name:
		full := t.text
		for p.take("::") { // of a base
			if p.now().kind != name {
				return nil, p.fail("a member's name is missing")
			}
			full += "::" + p.next().text
		}
		return Member{of, full, arrow}, nil
	case number: // Rust's tuples: x.0.1
		for _, c := range t.text {
			if c != '.' && (c < '0' || c > '9') {
				return nil, p.fail("a member's name is missing")
			}
		}
		for _, one := range strings.Split(t.text, ".") {
			of = Member{of, one, arrow}
		}
		return of, nil
	}
	return nil, p.fail("a member's name is missing")
}

func (p *parser) index(of Node, deeper int) (Node, error) {
	at, err := p.whole(deeper + 1)
	if err != nil {
		return nil, err
	}
	out := Index{Of: of, At: at}
	if p.take(":") {
		if out.Upto, err = p.whole(deeper + 1); err != nil {
			return nil, err
		}
	}
	if !p.take("]") {
		return nil, p.fail("] is missing")
	}
	return out, nil
}

func (p *parser) primary(deeper int) (Node, error) {
	t := p.now()
	switch t.kind {
	case number:
		p.next()
		n, err := literal(t.text)
		if err != nil {
			p.at--
			return nil, p.fail("%v", err)
		}
		return n, nil
	case register:
		p.next()
		return Register{t.text}, nil
	case text:
		p.next()
		s, err := strconv.Unquote(t.text)
		if err != nil {
			p.at--
			return nil, p.fail("this is no text")
		}
		return Text{s}, nil
	case character:
		p.next()
		if p.take("::") { // 'file.c'::name
			full, ok := p.scoped()
			if !ok {
				return nil, p.fail("a variable's name is missing")
			}
			return Name{File: t.text[1 : len(t.text)-1], Name: full}, nil
		}
		r, _, rest, err := strconv.UnquoteChar(t.text[1:len(t.text)-1], '\'')
		if err != nil || rest != "" {
			p.at--
			return nil, p.fail("this is no character")
		}
		return Number{Integer: uint64(r), Type: "char", Unsigned: r < 0x100 && strings.HasPrefix(t.text, `'\`)}, nil // '\xff' is a byte
	case name:
		switch t.text {
		case "true", "false":
			p.next()
			n := Number{Type: "bool"}
			if t.text == "true" {
				n.Integer = 1
			}
			return n, nil
		case "nullptr", "NULL":
			p.next()
			return Number{Type: "nullptr"}, nil
		}
		if casts[t.text] {
			return p.cast(deeper)
		}
		full, ok := p.scoped()
		if !ok {
			return nil, p.fail("a name is missing")
		}
		return Name{Name: full}, nil
	}
	if p.take("::") { // what stands in no scope
		full, ok := p.scoped()
		if !ok {
			return nil, p.fail("a name is missing")
		}
		return Name{Name: "::" + full}, nil
	}
	if p.take("(") {
		n, err := p.whole(deeper + 1)
		if err != nil {
			return nil, err
		}
		if !p.take(")") {
			return nil, p.fail(") is missing")
		}
		return n, nil
	}
	if t.kind == end {
		return nil, p.fail("something is missing")
	}
	return nil, p.fail("this is no value")
}

// suffixes are Rust's, of numbers.
var suffixes = []string{"u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize", "f32", "f64"}

// literal reads a number.
func literal(s string) (n Number, err error) {
	digits := strings.ReplaceAll(s, "_", "")
	hex := strings.HasPrefix(strings.ToLower(digits), "0x")
	for _, suffix := range suffixes {
		if rest, ok := strings.CutSuffix(digits, suffix); ok && rest != "" && !(hex && suffix[0] == 'f') {
			digits, n.Type = rest, suffix
			break
		}
	}
	isFloat := strings.HasPrefix(n.Type, "f")
	if !hex && (isFloat || strings.ContainsAny(digits, ".eE")) {
		number := strings.TrimRight(digits, "fFlL")
		f, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return n, fmt.Errorf("this is no number")
		}
		out := Number{Float: f, IsFloat: true}
		if n.Type == "f32" || strings.ContainsAny(digits[len(number):], "fF") {
			out.Type = "float"
		}
		return out, nil
	}
	for len(digits) > 1 && n.Type == "" && strings.ContainsRune("uUlL", rune(digits[len(digits)-1])) {
		last := digits[len(digits)-1] | 0x20
		n.Unsigned, n.Long = n.Unsigned || last == 'u', n.Long || last == 'l'
		digits = digits[:len(digits)-1]
	}
	n.Hex = digits[0] == '0'
	if n.Integer, err = strconv.ParseUint(digits, 0, 64); err != nil {
		return n, fmt.Errorf("this is no number")
	}
	return n, nil
}
