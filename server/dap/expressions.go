package dap

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dapwire"
)

// proposal is what the last word of an expression can become.
type proposal struct {
	name string
	kind dap.CompletionItemType
}

// maxProposals bounds the answer: a list that is longer is not read.
const maxProposals = 200

// complete proposes names for the last word of an expression, which it returns: a frame's variables, the program's packages and
// their variables, or, after a dot, what the expression before it holds. Nothing is called for that.
func (v *variables) complete(ctx context.Context, frame int, text string) (word string, out []proposal) {
	base, word := lastSelector(text)
	var names []proposal
	if base == "" {
		names = append(v.scopeNames(ctx, frame), v.packageNames(frame)...)
	} else {
		names = append(v.fieldNames(ctx, frame, base), v.globalsOf(base)...)
	}
	known := make(map[string]bool)
	for _, p := range names {
		if !known[p.name] && p.name != word && strings.HasPrefix(p.name, word) && isIdentifier(p.name) {
			known[p.name] = true
			out = append(out, p)
		}
	}
	return word, out[:min(len(out), maxProposals)]
}

// lastSelector splits the end of a text: the last word, and the expression before its dot. A call is no such expression.
func lastSelector(text string) (base, word string) {
	at := len(text)
	for at > 0 {
		r, size := utf8.DecodeLastRuneInString(text[:at])
		if !isLetter(r) {
			break
		}
		at -= size
	}
	word = text[at:]
	if at == 0 || text[at-1] != '.' {
		return "", word
	}
	end := at - 1
	for at = end; at > 0; {
		r, size := utf8.DecodeLastRuneInString(text[:at])
		switch {
		case isLetter(r) || r == '.':
			at -= size
		case r == ']' || r == ')':
			open := opening(text[:at])
			if open < 0 {
				return "", ""
			}
			at = open
		default:
			return text[at:end], word
		}
	}
	return text[:end], word
}

// opening returns where the bracket opens that ends a text, -1 for none.
func opening(text string) int {
	depth := 0
	for i := len(text) - 1; i >= 0; i-- {
		switch text[i] {
		case ']', ')':
			depth++
		case '[', '(':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

func isLetter(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

func isIdentifier(name string) bool {
	return name != "" && !unicode.IsDigit(rune(name[0])) && !strings.ContainsFunc(name, func(r rune) bool { return !isLetter(r) })
}

// scopeNames are the names of a frame's variables.
func (v *variables) scopeNames(ctx context.Context, frame int) (out []proposal) {
	if out, native := v.native.names(ctx, frame, ""); native {
		return out
	}
	answer, err := v.askAbout(ctx, frame, &dap.ScopesRequest{Request: dap.Request{Command: "scopes"}, Arguments: dap.ScopesArguments{FrameId: frame}}, true)
	var body dap.ScopesResponseBody
	if err != nil || !answer.Success || answer.Decode("body", &body) != nil {
		return nil
	}
	for _, s := range body.Scopes {
		if s.Name == "Registers" {
			continue
		}
		for _, held := range v.held(ctx, s.VariablesReference) {
			name := strings.TrimSuffix(strings.TrimPrefix(held.Name, "("), ")") // as Delve marks one that another hides
			out = append(out, proposal{name, "variable"})
		}
	}
	return out
}

// fieldNames are the names of what an expression's value holds, or what it points to.
func (v *variables) fieldNames(ctx context.Context, frame int, base string) (out []proposal) {
	if out, native := v.native.names(ctx, frame, base); native {
		return out
	}
	answer, err := v.askAbout(ctx, frame, &dap.EvaluateRequest{
		Request: dap.Request{Command: "evaluate"}, Arguments: dap.EvaluateArguments{Expression: base, FrameId: frame, Context: "watch"},
	}, true)
	var value dap.EvaluateResponseBody
	if err != nil || !answer.Success || answer.Decode("body", &value) != nil {
		return nil
	}
	fields := v.held(ctx, value.VariablesReference)
	for depth := 0; depth < 2 && len(fields) == 1 && isTarget(&fields[0]); depth++ {
		fields = v.held(ctx, fields[0].VariablesReference)
	}
	for _, f := range fields {
		out = append(out, proposal{f.Name, "field"})
	}
	return out
}

// isTarget says that a variable is what a pointer points to, and no field.
func isTarget(v *dap.Variable) bool {
	return strings.HasPrefix(v.EvaluateName, "(*") && strings.HasSuffix(v.EvaluateName, ")")
}

// packageNames are the global variables of a frame's own package, and the program's packages.
func (v *variables) packageNames(frame int) (out []proposal) {
	own := ""
	if about, err := dapwire.NewRequest(&dap.ScopesRequest{Request: dap.Request{Command: "scopes"}, Arguments: dap.ScopesArguments{FrameId: frame}}); err == nil {
		if _, ref, known, err := v.inserter.FrameOf(about); err == nil && known {
			own = packageOf(ref.Function())
		}
	}
	out = v.globalsOf(own)
	for _, name := range v.globals() {
		pkg, _, _ := strings.Cut(afterSlash(name), ".")
		if p := (proposal{pkg, "module"}); !slices.Contains(out[max(len(out)-1, 0):], p) {
			out = append(out, p)
		}
	}
	return out
}

// packageOf returns the package of a function, "C" where it is not Go's.
func packageOf(function string) string {
	if pkg, _, ok := strings.Cut(afterSlash(function), "."); ok {
		return pkg
	}
	return "C"
}

// globalsOf are the global variables of a package, by the last part of its path.
func (v *variables) globalsOf(pkg string) (out []proposal) {
	for _, name := range v.globals() {
		if own, name, ok := strings.Cut(afterSlash(name), "."); ok && own == pkg {
			out = append(out, proposal{name, "variable"})
		}
	}
	return out
}

func afterSlash(name string) string { return name[strings.LastIndex(name, "/")+1:] }

// globalsFrom returns the names of the global variables of a program in this process.
func globalsFrom(program *debuggee.Program) []string {
	t, ok := program.Target().(interface{ Globals() ([]string, error) })
	if _, stopped := program.State.At(); !ok || !stopped {
		return nil
	}
	names, err := t.Globals()
	if err != nil {
		program.Wire.Log("global variables: %v", err)
	}
	return names
}
