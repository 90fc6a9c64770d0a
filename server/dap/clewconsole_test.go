package dap

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/frames"
	"github.com/clewdbg/clew/server/dapwire"
)

func TestWords(t *testing.T) {
	for text, want := range map[string][]string{
		"":                       nil,
		"  a  b ":                {"a", "b"},
		`"a b" 'c "d"' e" "f`:    {"a b", `c "d"`, "e f"},
		`""`:                     {""},
		`/tmp/dir\ x`:            {`/tmp/dir\`, "x"},
		"--format=cbf\t-\n/ä/\"": nil, // not closed
	} {
		got, err := words(text)
		if (err != nil) != strings.HasSuffix(text, "/\"") || err == nil && !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestConsoleArguments(t *testing.T) {
	c := &console{state: new(debuggee.State), frames: new(frames.IDs)}
	for line, want := range map[string]string{
		"":                                 `{"threadId":-1,"all":"","format":"","depth":0} []`,
		"all":                              `{"threadId":null,"all":"goroutines","format":"","depth":0} []`,
		"threads --depth=3":                `{"threadId":null,"all":"threads","format":"","depth":3} []`,
		"7 --format cbf x.y":               `{"threadId":7,"all":"","format":"cbf","depth":0} ["x.y"]`,
		"7 8":                              `{"threadId":7,"all":"","format":"","depth":0} ["8"]`,
		"./all":                            `{"threadId":-1,"all":"","format":"","depth":0} ["./all"]`,
		"--format":                         "--format needs a value",
		"--depth x":                        `--depth "x" is no number`,
		"--color":                          "there is no flag --color: see clew help",
		"all 18446744073709551616 --depth": "--depth needs a value",
	} {
		args, err := words(line)
		if err != nil {
			t.Fatal(err)
		}
		var got exportArguments
		rest, err := c.arguments(&consoleCall{args: args}, &got)
		text, _ := json.Marshal(got)
		list, _ := json.Marshal(append([]string{}, rest...))
		said := string(text) + " " + string(list)
		if err != nil {
			said = err.Error()
		}
		if !strings.EqualFold(said, want) {
			t.Errorf("%q: %s, want %s", line, said, want)
		}
	}
}

// TestClewCommand: an expression is not a command of clew.
func TestClewCommand(t *testing.T) {
	for text, is := range map[string]bool{
		"clew stack": true, " clew\texport  x ": true, "clew nosuch": true,
		"clew": false, "clew + 1": false, "clew.stack": false, "clew (stack)": false, "clew[1]": false, "clew -x": false, "x clew stack": false, "dlv help": false, "clew 5": false,
	} {
		if clewCommand.MatchString(text) != is {
			t.Errorf("%q", text)
		}
	}
}

func TestCompletions(t *testing.T) {
	p := newPair(t, Options{})
	ask := func(arguments string) (targets []completion, raw string) {
		t.Helper()
		p.write(p.client, `{"seq":1,"type":"request","command":"completions","arguments":`+arguments+`}`)
		content, err := p.fromProxy.Read()
		if err != nil {
			t.Fatal(err)
		}
		m, err := dapwire.Parse(content)
		if err != nil {
			t.Fatal(err)
		}
		var body struct{ Targets []completion }
		if m.Success && m.Decode("body", &body) != nil {
			t.Fatalf("%s", content)
		}
		return body.Targets, string(content)
	}
	for text, want := range map[string]string{
		"cl": "clew", "clew": "", "": "", "x": "", "dlv ": "", "clew s": "stack", "clew ": "stack export plugins help", "clew help p": "plugins",
		"clew export a": "all", "clew export --format s": "swift snapshot", "clew export --f": "--format", "clew stack ": "all threads --depth", "x clew ": "", "clew plugins ": "",
	} {
		quoted, _ := json.Marshal(text)
		targets, raw := ask(`{"text":` + string(quoted) + `,"column":` + string(itoa(len(text)+1)) + `}`)
		var labels []string
		for _, c := range targets {
			labels = append(labels, c.Label)
			if c.Start == 0 && !strings.Contains(raw, `"start":0,"length":`) { // without it, the word would be added at the cursor
				t.Errorf("%q: %s", text, raw)
			}
			if c.Start+c.Length != len(text) || !strings.HasPrefix(c.Label, text[c.Start:]) {
				t.Errorf("%q: %+v", text, c)
			}
		}
		if got := strings.Join(labels, " "); got != want {
			t.Errorf("%q: %q, want %q; %s", text, got, want, raw)
		}
	}
	// Columns count UTF-16 units; what is behind the cursor does not count.
	if targets, raw := ask(`{"text":"clew export \"𝄞\" --f x","column":21}`); len(targets) != 1 || targets[0] != (completion{dap.CompletionItem{Label: "--format", Type: "keyword"}, 17, 3}) {
		t.Errorf("%s", raw)
	}
	for _, odd := range []string{`{"text":"clew ","column":99}`, `{"text":"clew ","column":-1}`, `{"text":"clew ","column":6,"line":2}`, `{}`} {
		if targets, raw := ask(odd); len(targets) != 0 || !strings.Contains(raw, `"targets":[]`) {
			t.Errorf("%s: %s", odd, raw)
		}
	}
	if _, raw := ask(`{"text":5}`); !strings.Contains(raw, "text is no string") {
		t.Error(raw)
	}
}

func itoa(n int) []byte { text, _ := json.Marshal(n); return text }

// TestConsoleHelp: every command that there is has its help, and the other way.
func TestConsoleHelp(t *testing.T) {
	all, err := consoleHelpText(nil)
	if err != nil || !strings.Contains(all, "dlv help") {
		t.Errorf("%s, %v", all, err)
	}
	p := newPair(t, Options{})
	console := func(expression string) string {
		text, _ := json.Marshal(expression)
		p.write(p.client, `{"seq":3,"type":"request","command":"evaluate","arguments":{"context":"repl","expression":`+string(text)+`}}`)
		content, err := p.fromProxy.Read()
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	for _, h := range consoleHelps {
		if !strings.Contains(all, h.synopsis) || !strings.HasPrefix(h.synopsis, "clew "+h.name) {
			t.Errorf("%s: %s", h.name, all)
		}
		if said := console("clew help " + h.name); !strings.Contains(said, `"success":true`) || !strings.Contains(said, "clew "+h.name) {
			t.Errorf("%s", said)
		}
		if said := console("clew " + h.name + " --x"); strings.Contains(said, "there is no command \\\""+h.name) {
			t.Errorf("%s", said)
		}
	}
	for expression, want := range map[string]string{
		"clew dance": "see clew help", "clew help dance": "see clew help", "clew help stack export": "one command", "clew plugins now": "no arguments",
		"clew stack now": "no goroutine's ID", "clew export": "one FILE", "clew export a b": "one FILE", "clew export a.b": "ending", `clew export "a`: "quotation",
		"clew export --format pdf x": "unknown format", "clew stack --depth -1": "negative",
	} {
		if said := console(expression); !strings.Contains(said, want) || !strings.Contains(said, `"success":false`) {
			t.Errorf("%s: %s, want %q", expression, said, want)
		}
	}
	// Elsewhere than in the console it is an expression.
	const watch = `{"seq":4,"type":"request","command":"evaluate","arguments":{"context":"watch","expression":"clew help"}}`
	p.write(p.client, watch)
	p.expect(p.toPeer, watch)
}
