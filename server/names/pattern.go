package names

import (
	"slices"
	"strings"
)

// Pattern is a function's name as a person writes it: the whole of it, or its end from any scope on, with or
// without arguments of templates and parameters. Scopes that have no name of their own may be left out.
type Pattern struct {
	text   string // without needless spaces
	parts  []string
	args   bool // some of templates are in it
	params bool
	inner  bool // the parameters are those of lambdas that the function lies in, none are its own
}

// NewPattern returns the pattern for a name.
func NewPattern(name string) Pattern {
	name = strings.ReplaceAll(name, "{anonymous}", anonymous)
	p := Pattern{text: squeeze(name)}
	plain := Short(p.text)
	p.args = shorten(p.text, shortener{keepArgs: true}) != plain
	full := shorten(p.text, shortener{keepParams: true})
	p.params = full != plain
	p.inner = p.params && last(parts(full)) == last(parts(plain))
	p.parts = p.split(p.text)
	return p
}

// split returns the parts of a name, with what the pattern has of them.
func (p *Pattern) split(name string) []string {
	all := parts(shorten(name, shortener{keepArgs: p.args, keepParams: p.params}))
	if p.inner && len(all) > 0 {
		all[len(all)-1] = last(parts(shorten(name, shortener{keepArgs: p.args})))
	}
	return all
}

func last(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	return parts[len(parts)-1]
}

// Own is the function's own name, without scopes, arguments and parameters, as DWARF has it; "" if that cannot
// be told.
func (p *Pattern) Own() string {
	all := parts(Short(p.text))
	if len(all) == 0 {
		return ""
	}
	switch own := all[len(all)-1]; {
	case isLambda(own):
		return operatorWord + "()"
	case strings.HasPrefix(own, "<"), strings.HasPrefix(own, "{{"):
		return ""
	default:
		return own
	}
}

// Matches says whether a demangled name, in full, is one of those that the pattern means.
func (p *Pattern) Matches(name string) bool {
	name = squeeze(name)
	if name == p.text {
		return true
	}
	if len(p.parts) == 0 || isConst(p.text) && !isConst(name) {
		return false
	}
	of := p.split(name)
	if n := len(of); n > 1 && isLambda(of[n-2]) && strings.HasPrefix(of[n-1], operatorWord+"()") && p.endsIn(of[:n-1]) {
		return true
	}
	if i := slices.IndexFunc(of, func(part string) bool { return strings.HasPrefix(part, "<") }); i >= 0 && p.endsIn(append(typeParts(of[i]), of[i+1:]...)) {
		return true
	}
	return p.endsIn(of)
}

// endsIn says whether the last of the parts are the pattern's.
func (p *Pattern) endsIn(of []string) bool {
	at := len(of) - 1
	for i, want := range slices.Backward(p.parts) {
		for at >= 0 && i < len(p.parts)-1 && of[at] != want && of[at] == anonymous {
			at--
		}
		if at < 0 || of[at] != want && untagged(of[at]) != want && unnumbered(of[at]) != want {
			return false
		}
		at--
	}
	return true
}

// isConst says whether a name with parameters is that of a member function that does not change its object.
func isConst(name string) bool {
	before, ok := strings.CutSuffix(name, "const")
	return ok && strings.HasSuffix(strings.TrimSuffix(before, " "), ")")
}

// untagged is a part of a name without the tags of its ABI, f[abi:cxx11].
func untagged(part string) string {
	before, rest, ok := strings.Cut(part, "[abi:")
	if !ok {
		return part
	}
	_, after, _ := strings.Cut(rest, "]")
	return before + after
}

// isLambda says whether a part of a name is a lambda's type, as GCC's names have it or as Clang's.
func isLambda(part string) bool {
	return strings.HasPrefix(part, "{lambda") || strings.HasPrefix(part, "$_")
}

// unnumbered is a part of a name without the number of a lambda, {lambda()#2}.
func unnumbered(part string) string {
	if i := strings.LastIndexByte(part, '#'); i > 0 && strings.HasPrefix(part, "{lambda") {
		return part[:i] + "}"
	}
	return part
}

// typeParts returns the parts of the type in Rust's <T as Trait> and <impl Trait for T>.
func typeParts(part string) []string {
	inner := strings.TrimSuffix(strings.TrimPrefix(part, "<"), ">")
	if _, of, ok := strings.Cut(inner, " for "); ok {
		inner = of
	}
	inner, _, _ = strings.Cut(inner, " as ")
	return parts(inner)
}

// parts splits a name at each :: that is not within brackets.
func parts(name string) (out []string) {
	depth, begin := 0, 0
	for at := 0; at < len(name); {
		rest := name[at:]
		switch {
		case at == begin && strings.HasPrefix(rest, operatorWord) && len(rest) > len(operatorWord) && !isWord(rest[len(operatorWord)]):
			return append(out, rest)
		case depth == 0 && strings.HasPrefix(rest, "::"):
			if at > begin {
				out = append(out, name[begin:at])
			}
			at += len("::")
			begin = at
			continue
		case strings.IndexByte("<({", rest[0]) >= 0:
			depth++
		case strings.IndexByte(">)}", rest[0]) >= 0 && depth > 0 && !strings.HasSuffix(name[:at], "-"):
			depth--
		}
		at++
	}
	if begin < len(name) {
		out = append(out, name[begin:])
	}
	return out
}

// squeeze leaves out spaces, but for those before words.
func squeeze(name string) string {
	if strings.IndexByte(name, ' ') < 0 {
		return name
	}
	out := make([]byte, 0, len(name))
	for i := range len(name) {
		if name[i] == ' ' {
			after := strings.TrimLeft(name[i:], " ")
			if len(out) == 0 || after == "" || out[len(out)-1] == ' ' {
				continue
			}
			next := isWord(after[0]) || strings.IndexByte("~{<", after[0]) >= 0 || strings.HasPrefix(after, anonymous)
			if !next || strings.IndexByte("(,{:", out[len(out)-1]) >= 0 {
				continue
			}
		}
		out = append(out, name[i])
	}
	return string(out)
}
