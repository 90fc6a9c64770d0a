package dap

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/dapwire"
)

// localsProgram is the program of testdata/locals, and its library.
type localsProgram struct{ exe, library, source string }

var buildLocals sync.Once

func locals(t testing.TB) localsProgram {
	t.Helper()
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	cc, strip := testneed.CC(t), testneed.Tool(t, "strip")
	source, err := filepath.Abs(filepath.Join("testdata", "locals"))
	if err != nil {
		t.Fatal(err)
	}
	p := localsProgram{binary("locals"), binary("locals-relay.so"), filepath.Join(source, "main.go")}
	buildLocals.Do(func() {
		for _, cmd := range [][]string{
			{cc, "-shared", "-fPIC", "-O2", "-fomit-frame-pointer", "-o", p.library, filepath.Join(source, "library", "relay.c")},
			{strip, p.library},
		} {
			if out, err := exec.Command(cmd[0], cmd[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", cmd, err, out)
			}
		}
		if err := buildGo(source, "locals", "-gcflags=all=-N -l", "."); err != nil {
			t.Fatal(err)
		}
	})
	return p
}

// launchLocals goes to the first stop at a line of the program.
func (c *client) launchLocals(p localsProgram, line int) int64 {
	c.t.Helper()
	c.initialize()
	c.ok("launch", object{"mode": "exec", "program": p.exe, "args": []string{p.library}, "outputMode": "remote"})
	c.event("initialized")
	c.ok("setBreakpoints", object{"source": object{"path": p.source}, "breakpoints": []object{{"line": line}}})
	c.ok("configurationDone", nil)
	return threadOf(c.t, c.event("stopped"))
}

// lineOf finds a line of a source file.
func lineOf(t testing.TB, path, text string) int {
	t.Helper()
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range strings.Split(string(source), "\n") {
		if strings.HasSuffix(l, text) {
			return i + 1
		}
	}
	t.Fatalf("no line of %s ends in %q", path, text)
	return 0
}

// named finds the frame of a function.
func (b stackBody) named(t testing.TB, name string) frame {
	t.Helper()
	i := slices.IndexFunc(b.StackFrames, func(f frame) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("no frame of %s: %+v", name, b)
	}
	return b.StackFrames[i]
}

// value is a variable as the client sees it.
type value struct {
	Name, Value, Type  string
	VariablesReference int64
}

// locals returns a frame's variables, and their reference.
func (c *client) locals(f frame) (vars map[string]value, ref int64) {
	c.t.Helper()
	vars = map[string]value{}
	for _, s := range c.scopes(f.ID) { // frames of native code have two
		if strings.HasPrefix(s.Name, "Locals") || s.Name == "Arguments" {
			maps.Copy(vars, c.values(s.VariablesReference))
			ref = s.VariablesReference
		}
	}
	if ref == 0 {
		c.t.Fatalf("%s has no scope of locals", f.Name)
	}
	return vars, ref
}

func (c *client) values(ref int64) map[string]value {
	c.t.Helper()
	var b struct{ Variables []value }
	decode(c.t, c.request("variables", object{"variablesReference": ref}), &b)
	out := map[string]value{}
	for _, v := range b.Variables {
		out[v.Name] = v
		if v.VariablesReference != 0 && (v.VariablesReference >= firstClewID) != (ref >= firstClewID) {
			c.t.Errorf("%s has the reference %d, within %d", v.Name, v.VariablesReference, ref)
		}
	}
	return out
}

func (c *client) wantValues(vars map[string]value, want map[string]string) {
	c.t.Helper()
	for name, text := range want {
		if got := vars[name].Value; got != text {
			c.t.Errorf("%s is %q, want %q", name, got, text)
		}
	}
}

// output waits until the program has written a line; other events that come
// before can still be waited for.
func (c *client) output(line string) {
	c.t.Helper()
	next := c.next
	written := ""
	c.until("output "+line, func(m *dapwire.Message) bool {
		if m.Event == "output" {
			text, _ := body(c.t, m)["output"].(string)
			written += text
		}
		return strings.Contains(written, line)
	})
	c.next = next
}

func (c *client) refused(command string, arguments object, why string) {
	c.t.Helper()
	m := c.request(command, arguments)
	if m.Success || !strings.Contains(string(m.Bytes()), why) {
		c.t.Errorf("%s %v: want a refusal with %q: %s", command, arguments, why, m.Bytes())
	}
}

// TestLocals: variables in frames that only clew knows, of Go and of C, are those
// that the program has; the program goes on with the values that are set there.
func TestLocals(t *testing.T) {
	p := locals(t)
	c := start(t, binary("clew")).dial()
	thread := c.launchLocals(p, lineOf(t, p.source, "// stop here"))
	stack := c.stack(thread, 0, 50)
	enter, outer, back := stack.named(t, "enter"), stack.named(t, "main.outer"), stack.named(t, "back")
	for _, f := range []frame{enter, outer} {
		if f.ID < firstClewID {
			t.Errorf("%s is Delve's: %+v", f.Name, stack)
		}
	}
	vars, ref := c.locals(enter)
	c.wantValues(vars, map[string]string{"depth": "3", "doubled": "6"})
	c.wantValues(c.values(vars["corner"].VariablesReference), map[string]string{"x": "11", "y": "22"})
	c.wantValues(c.values(vars["table"].VariablesReference), map[string]string{"[0]": "5", "[1]": "6", "[3]": "8"})
	goVars, goRef := c.locals(outer)
	c.wantValues(goVars, map[string]string{"depth": "3", "total": "43"})
	c.wantValues(c.values(goVars["names"].VariablesReference), map[string]string{"[0]": `"ball"`, "[2]": `"thread"`})
	c.wantValues(c.values(goVars["p"].VariablesReference), map[string]string{"Name": `"clew"`, "Count": "3"})
	inner, _ := c.locals(back)
	c.wantValues(inner, map[string]string{"x": "7", "inner": "70"})
	for expression, want := range map[string]string{"doubled*2+corner.x": "23", "depth": "3"} {
		if got := c.ok("evaluate", object{"expression": expression, "frameId": enter.ID, "context": "watch"})["result"]; got != want {
			t.Errorf("%s is %v, want %s", expression, got, want)
		}
	}
	evaluated := c.ok("evaluate", object{"expression": "q", "frameId": outer.ID, "context": "watch"})
	if id := int64(evaluated["variablesReference"].(float64)); id < firstClewID {
		t.Errorf("a value in an own frame has the reference %d", id)
	}

	for _, k := range []struct {
		frame      frame
		text, want string
	}{
		{enter, "1 + do", "doubled"}, {enter, "corner.", "x"}, {enter, "starte", "started"}, {outer, "p.Na", "Name"}, {outer, "tot", "total"},
		{outer, "runtime.allgle", "allglen"}, {outer, "runtim", "runtime"}, {outer, "C.rela", "relay"}, {back, "inn", "inner"},
	} {
		targets, _ := c.ok("completions", object{"frameId": k.frame.ID, "text": k.text, "column": len(k.text) + 1})["targets"].([]any)
		if !slices.ContainsFunc(targets, func(t any) bool { return t.(object)["label"] == k.want }) {
			t.Errorf("completions of %q: %v, want %s", k.text, targets, k.want)
		}
	}
	c.refused("evaluate", object{"expression": "seen", "frameId": outer.ID, "context": "watch"}, "could not find symbol value for seen") // which is the innermost frame's
	c.refused("evaluate", object{"expression": "call outer(1)", "frameId": outer.ID, "context": "repl"}, "calls are made from the innermost frame")
	c.refused("setVariable", object{"variablesReference": goRef, "name": "nothing", "value": "1"}, "failed to find the named variable")
	c.refused("setVariable", object{"variablesReference": goVars["p"].VariablesReference, "name": "Name", "value": `"x"`}, "the program would have to run")
	c.refused("dataBreakpointInfo", object{"frameId": outer.ID, "name": "total"}, "on the variables in its scopes")
	if info := c.ok("dataBreakpointInfo", object{"variablesReference": goRef, "name": "total"}); !strings.Contains(info["dataId"].(string), "byte") {
		t.Errorf("no data breakpoint on total: %v", info)
	}

	c.ok("setVariable", object{"variablesReference": ref, "name": "doubled", "value": "100"})
	c.ok("setVariable", object{"variablesReference": goRef, "name": "total", "value": "5000"})
	c.ok("setVariable", object{"variablesReference": goVars["p"].VariablesReference, "name": "Count", "value": "20000"})
	c.ok("setExpression", object{"expression": "corner.x", "value": "12", "frameId": enter.ID})
	c.ok("setExpression", object{"expression": "inner", "value": "71", "frameId": back.ID}) // a frame of Delve's
	c.refused("setExpression", object{"expression": "doubled+1", "value": "12", "frameId": enter.ID}, "lies nowhere")
	c.refused("setExpression", object{"expression": "p.Name", "value": `"x"`, "frameId": outer.ID}, "the program would have to run")
	if got := c.ok("evaluate", object{"expression": "inner", "frameId": back.ID, "context": "watch"})["result"]; got != "71" {
		t.Errorf("inner is %v, want 71", got)
	}
	c.refused("evaluate", object{"expression": "total+doubled", "frameId": outer.ID}, "could not find symbol value for doubled")
	c.wantValues(func() map[string]value { v, _ := c.locals(enter); return v }(), map[string]string{"doubled": "100"})
	// The innermost frame and the stack are as before.
	if top, _ := c.locals(stack.StackFrames[0]); top["seen"].Value != "71" {
		t.Errorf("the innermost frame has %v", top)
	}
	again := c.stack(thread, 0, 50)
	for i, f := range again.StackFrames {
		if f.Name != stack.StackFrames[i].Name || f.PC != stack.StackFrames[i].PC {
			t.Errorf("frame %d has become %+v", i, f)
		}
	}

	c.ok("continue", object{"threadId": thread})
	// back returns 71, relay one more; doubled, corner.x, table[3]; total, Count, the first name.
	c.output(fmt.Sprintf("first %d\n", 71+1+100+12+8+5000+20000+4))
	thread = threadOf(t, c.event("stopped"))
	for _, r := range []int64{ref, goRef, vars["corner"].VariablesReference} {
		c.refused("variables", object{"variablesReference": r}, "not of the present stop")
		c.refused("setVariable", object{"variablesReference": r, "name": "doubled", "value": "1"}, "not of the present stop")
	}
	c.refused("evaluate", object{"expression": "doubled", "frameId": enter.ID}, "not of the present stop")
	second, _ := c.locals(c.stack(thread, 0, 50).named(t, "enter"))
	c.wantValues(second, map[string]string{"depth": "4", "doubled": "8"})
	c.disconnect()
}
