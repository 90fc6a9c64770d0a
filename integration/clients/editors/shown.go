package editors

import (
	"fmt"
	"io"
	"strings"
)

// shown is what an editor has shown, by step.
type shown map[string]string

// step is one of a script's, and what an editor shows after it.
type step struct{ name, want string }

var steps = []step{
	{"breakpoint in C", "native.c:9"},
	{"stack", "whisk froth main.refill main.pour crush grind main.brew main.main runtime.goexit"},
	{"step out of C", "native.c:15"},
	{"again, to Go", "main.go:51"},
	{"restart", "native.c:9"},
	{"terminate", "ended"},
}

func header(w io.Writer) {
	fmt.Fprint(w, "| editor | with |")
	for _, s := range steps {
		fmt.Fprintf(w, " %s |", s.name)
	}
	fmt.Fprintf(w, "\n|---|---|%s\n", strings.Repeat("---|", len(steps)))
}

// row writes what an editor has shown, and returns whether all of it is as expected.
func (s shown) row(w io.Writer, version, adapter string, left int) bool {
	fmt.Fprintf(w, "| %s | %s |", version, adapter)
	all := left == 0
	for _, one := range steps {
		text, ok := s.judge(one)
		if one.name == "terminate" && left > 0 {
			text = fmt.Sprintf("%s, %d processes left", text, left)
		}
		fmt.Fprintf(w, " %s |", text)
		all = all && ok
	}
	fmt.Fprintln(w)
	return all
}

// judge returns what a table says of a step.
func (s shown) judge(one step) (text string, ok bool) {
	got, done := s[one.name]
	switch {
	case !done:
		return "no", false
	case one.name == "stack":
		return judgeStack(strings.Fields(got), strings.Fields(one.want))
	}
	return got, got == one.want
}

// judgeStack looks for functions in a stack, in their order.
func judgeStack(names, want []string) (text string, ok bool) {
	found := 0
	for _, name := range names {
		if found < len(want) && name == want[found] {
			found++
		}
	}
	last := "nothing"
	if len(names) > 0 {
		last = names[len(names)-1]
	}
	return fmt.Sprintf("%d frames, to %s", len(names), last), found == len(want)
}

// facts reads the lines "step: what was shown" of a script.
func facts(text string) shown {
	out := make(shown)
	for line := range strings.Lines(text) {
		if name, what, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			out[name] = what
		}
	}
	return out
}
