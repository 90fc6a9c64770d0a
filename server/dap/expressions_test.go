package dap

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dapwire"
)

func TestLastSelector(t *testing.T) {
	for text, want := range map[string][2]string{
		"": {"", ""}, "ab": {"", "ab"}, "a.b": {"a", "b"}, "a.": {"a", ""}, "x + a.b.c": {"a.b", "c"}, "x+y[i+1].f": {"y[i+1]", "f"}, "f(a.": {"a", ""},
		"(*main.T)(p).na": {"(*main.T)(p)", "na"}, "-a.b[0][1].": {"a.b[0][1]", ""}, "a].b": {"", ""}, ").": {"", ""}, ".x": {"", "x"}, "é.ü": {"é", "ü"},
	} {
		if base, word := lastSelector(text); base != want[0] || word != want[1] {
			t.Errorf("%q: %q and %q, want %q", text, base, word, want)
		}
	}
}

// TestComplete: names come from the frame's scopes, from what an expression holds, and from the program's global variables.
func TestComplete(t *testing.T) {
	v, inserter, p := newVariables(t)
	list := []string{"C.count", "example.com/x/main.total", "main.tail", "runtime.allgs"}
	v.globals = func() []string { return list }
	ask := func(frame int, text string) {
		p.write(p.client, fmt.Sprintf(`{"seq":7,"type":"request","command":"completions","arguments":{"frameId":%d,"text":%q,"column":%d}}`, frame, text, len(text)+1))
	}
	expect := func(word, want string) {
		t.Helper()
		content, err := p.fromProxy.Read()
		if err != nil {
			t.Fatal(err)
		}
		m, err := dapwire.Parse(content)
		var body completionsBody
		if err != nil || m.Decode("body", &body) != nil {
			t.Fatalf("%s, %v", content, err)
		}
		var names []string
		for _, n := range body.Targets {
			names = append(names, n.Label+":"+string(n.Type))
			if n.Length != len(word) {
				t.Errorf("%q: %+v", word, n)
			}
		}
		if text := strings.Join(names, " "); text != want {
			t.Errorf("%s, want %s", text, want)
		}
	}
	ask(1000, "1 + t")
	p.answer(p.injected("scopes", `{"frameId":1000}`), "true", `{"scopes":[{"name":"Locals","variablesReference":1001},{"name":"Registers","variablesReference":1002}]}`)
	p.answer(p.injected("variables", `{"variablesReference":1001}`), "true", `{"variables":[{"name":"top"},{"name":"(two)"},{"name":"top"},{"name":"~t"},{"name":"x"},{"name":"t"}]}`)
	expect("t", "top:variable two:variable")

	ask(1000, "r")
	p.answer(p.injected("scopes", `{"frameId":1000}`), "false", `{}`)
	expect("r", "runtime:module")

	ask(1000, "p.n")
	p.answer(p.injected("evaluate", `{"expression":"p","frameId":1000,"context":"watch"}`), "true", `{"result":"*main.T","variablesReference":1003}`)
	p.answer(p.injected("variables", `{"variablesReference":1003}`), "true", `{"variables":[{"name":"p","evaluateName":"(*(p))","variablesReference":1004}]}`)
	p.answer(p.injected("variables", `{"variablesReference":1004}`), "true", `{"variables":[{"name":"name"},{"name":"next"},{"name":"other"}]}`)
	expect("n", "name:field next:field")

	ask(1000, "main.t")
	p.answer(p.injected("evaluate", `{"expression":"main","frameId":1000,"context":"watch"}`), "false", `{}`)
	expect("t", "total:variable tail:variable")

	inserter.err = errNoMemory
	ask(debuggee.FirstID+5, "C.")
	expect("", "count:variable")
	ask(debuggee.FirstID+5, "cl")
	expect("cl", "clew:keyword")
}
