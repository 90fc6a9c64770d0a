package dap

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema/schematest"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// leaf is a value of a function of testdata/everywhere, as its source says.
type leaf struct{ function, expression, want string }

var leaves = []leaf{
	{"stop", "depth", "204"}, {"stop", "text", `"inner"`},
	{"inC", "n", "4"}, {"inC", "pairs[0].b", "-2"}, {"inC", "pairs[0].u.f", "0.5"}, {"inC", "pairs[1].u.i", "7"}, {"inC", "vla[3]", "9"},
	{"hold", "colour", "green"}, {"hold", "points[1].y", "4"}, {"hold", "named[0].second", `"one"`}, {"hold", "grid[1][2]", "6"},
	{"hold", "yes", "true"}, {"hold", "bytes[0]", `200 '\xc8'`},
	{"main", "shape.at.y", "4"}, {"main", "shape.low", "5"}, {"main", "shape.mid", "-3"}, {"main", "shape.high", "123456789012"},
	{"main", "shape.size", "2.5"}, {"main", "shape.name", `"shape"`},
}

// TestValuesEverywhere: what frames of C and C++ hold is the same in an editor, a terminal, what clew stack prints of a program, a
// running process, a core file and a server, and a snapshot.
func TestValuesEverywhere(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	exe := everywhere(t, "-O0")
	dir := t.TempDir()
	ways := map[string]func(*testing.T) [][2]string{
		"editor":   func(t *testing.T) [][2]string { return inEditor(t, exe) },
		"terminal": func(t *testing.T) [][2]string { return inTerminal(t, exe) },
		"program": func(t *testing.T) [][2]string {
			return inStack(t, clew(t, "stack", "--values", "all", "--format", "json", "--", exe))
		},
		"core file": func(t *testing.T) [][2]string {
			return inStack(t, clew(t, "stack", "--values", "all", "--format", "json", "--goroutine", "current", "--core", testkit.Core(t, os.Environ(), exe), exe))
		},
		"snapshot": func(t *testing.T) [][2]string {
			file := filepath.Join(dir, "snapshot.json")
			clew(t, "stack", "--values", "all", "--format", "snapshot", "-o", file, "--", exe)
			return inStack(t, clew(t, "unwind", "--values", "all", file))
		},
		"server": func(t *testing.T) [][2]string {
			s := serving(t, binary("clew"), "", []string{"--accept-multiclient"}, exe)
			c := s.dial()
			c.initialize()
			c.ok("attach", object{"mode": "remote", "stopOnEntry": true})
			c.event("initialized")
			c.ok("configurationDone", nil)
			thread := threadOf(t, c.event("stopped"))
			c.ok("continue", object{"threadId": thread})
			c.event("stopped")
			return inStack(t, clew(t, "stack", "--values", "all", "--format", "json", "--connect", s.addr))
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			for i, got := range way(t) {
				if got[0] != leaves[i].want {
					t.Errorf("%s in %s is %s, want %s", leaves[i].expression, leaves[i].function, got[0], leaves[i].want)
				}
				if strings.HasPrefix(leaves[i].expression, "shape") && name != "editor" && name != "terminal" && !strings.Contains(got[1], "memory") {
					t.Errorf("%s rests on %s", leaves[i].expression, got[1])
				}
			}
		})
	}
}

// everywhere builds the program.
func everywhere(t *testing.T, optimized string) (exe string) {
	t.Helper()
	cc, cxx := testneed.CC(t), testneed.Tool(t, "g++")
	dir := t.TempDir()
	exe, compiled := filepath.Join(dir, "values"), filepath.Join(dir, "inc.o")
	for _, args := range [][]string{
		{cc, "-g", optimized, "-x", "c", "-c", "-o", compiled, filepath.Join("testdata", "everywhere", "inc.c.txt")},
		{cxx, "-std=c++17", "-g", optimized, "-o", exe, "-x", "c++", filepath.Join("testdata", "everywhere", "values.cc.txt"), "-x", "none", compiled},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return exe
}

// TestSavedRegisters: a register of a caller rests on the place where GDB says that the function saved it, and has GDB's value
// where functions must keep it; the others are not known.
func TestSavedRegisters(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	gdb := testneed.Tool(t, "gdb")
	exe := everywhere(t, "-O2")
	core := testkit.Core(t, os.Environ(), exe)
	script := []string{"-batch", "-nx"}
	const frames = 4
	for i := range frames {
		script = append(script, "-ex", fmt.Sprintf("echo \\n== %d\\n", i), "-ex", fmt.Sprintf("frame %d", i), "-ex", "info frame", "-ex", "info registers")
	}
	said, err := exec.Command(gdb, append(script, exe, core)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	type ofFrame struct{ saved, is map[string]string }
	var gdbs []ofFrame
	for part := range strings.SplitSeq(string(said), "\n== ") {
		one := ofFrame{make(map[string]string), make(map[string]string)}
		for _, m := range regexp.MustCompile(`(\w+) at (0x[0-9a-f]+)`).FindAllStringSubmatch(part[max(0, strings.Index(part, "Saved registers")):], -1) {
			one.saved[m[1]] = m[2]
		}
		for _, m := range regexp.MustCompile(`(?m)^(\w+) +(0x[0-9a-f]+) `).FindAllStringSubmatch(part, -1) {
			one.is[m[1]] = m[2]
		}
		gdbs = append(gdbs, one)
	}
	gdbs = gdbs[1:]
	var answer struct{ Stacks []stackOf }
	if err := json.Unmarshal(clew(t, "stack", "--registers", "--goroutine", "current", "--format", "json", "--core", core, exe), &answer); err != nil {
		t.Fatal(err)
	}
	saved := 0
	for i, f := range answer.Stacks[0].Frames[:frames] {
		for _, v := range f.Values {
			kept := slices.Contains([]string{"rbx", "rbp", "rsp", "rip", "r12", "r13", "r14", "r15"}, v.Name)
			switch {
			case i == 1 && !kept && v.Unknown == "": // the function in which the program stopped has left it alone
			case i > 0 && kept == (v.Unknown != ""):
				t.Errorf("frame %d: %s is %q (%s)", i, v.Name, v.Value, v.Unknown)
			case v.Unknown == "" && v.Value != gdbs[i].is[v.Name]:
				t.Errorf("frame %d: %s is %s, and GDB says %s", i, v.Name, v.Value, gdbs[i].is[v.Name])
			}
			if len(v.RestsOn) == 1 && v.RestsOn[0].Saved != nil {
				saved++
				if at := gdbs[*v.RestsOn[0].From].saved[v.Name]; at != v.RestsOn[0].Saved.String() {
					t.Errorf("frame %d: %s was saved by frame %d at %v, and GDB says %s", i, v.Name, *v.RestsOn[0].From, v.RestsOn[0].Saved, at)
				}
			}
		}
	}
	if saved < 10 {
		t.Errorf("%d registers were saved", saved)
	}
}

// clew runs the command line, and returns its output. A stack that is truncated is none here.
func clew(t *testing.T, args ...string) []byte {
	t.Helper()
	c := exec.Command(binary("clew"), args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("clew %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	return out.Bytes()
}

// inEditor evaluates the leaves, and sees that the scopes have their variables.
func inEditor(t *testing.T, exe string) (out [][2]string) {
	c := start(t, binary("clew")).dial()
	c.initialize()
	c.ok("launch", object{"mode": "exec", "program": exe, "outputMode": "remote"})
	c.event("initialized")
	c.ok("configurationDone", nil)
	stack := c.stack(threadOf(t, c.event("stopped")), 0, 50)
	frames := make(map[string]int64)
	for _, f := range stack.StackFrames {
		name, _, _ := strings.Cut(f.Name, "(")
		frames[name] = f.ID
	}
	for _, l := range leaves {
		m := c.request("evaluate", object{"expression": l.expression, "frameId": frames[l.function], "context": "watch"})
		var body struct{ Result string }
		if !m.Success || m.Decode("body", &body) != nil {
			body.Result = string(m.Bytes())
		}
		out = append(out, [2]string{body.Result})
	}
	c.disconnect()
	return out
}

// inTerminal prints the leaves.
func inTerminal(t *testing.T, exe string) (out [][2]string) {
	script := filepath.Join(t.TempDir(), "script")
	text := "continue\n"
	for _, l := range leaves {
		row := map[string]string{"stop": "0", "inC": "1", "hold": "2", "main": "3"}[l.function]
		text += "frame " + row + " print " + l.expression + "\n"
	}
	if err := os.WriteFile(script, []byte(text+"exit\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	printed := strings.Split(strings.TrimSpace(string(clew(t, "exec", exe, "--allow-non-terminal-interactive", "--init", script))), "\n")
	if len(printed) < len(leaves) {
		t.Fatalf("%q", printed)
	}
	for _, line := range printed[len(printed)-len(leaves):] {
		out = append(out, [2]string{line})
	}
	return out
}

// inStack finds the leaves in a stack as JSON, whose form is checked.
func inStack(t *testing.T, text []byte) (out [][2]string) {
	if err := schematest.CheckOutput(schema.Stack, text); err != nil {
		t.Error(err)
	}
	var answer struct{ Stacks []stackOf }
	if err := json.Unmarshal(text, &answer); err != nil || len(answer.Stacks) == 0 {
		t.Fatalf("%v: %.300s", err, text)
	}
	for _, l := range leaves {
		got := [2]string{"nothing"}
		for _, f := range answer.Stacks[0].Frames {
			if name, _, _ := strings.Cut(f.Function, "("); name != l.function {
				continue
			}
			if v := at(f.Values, l.expression); v != nil {
				rests, _ := json.Marshal(v.RestsOn)
				got = [2]string{v.Value, string(rests)}
			}
		}
		out = append(out, got)
	}
	return out
}

// stackOf is what the test reads of a stack.
type stackOf struct {
	Frames []struct {
		Function string
		Values   []stackjson.Value
	}
}

// at follows an expression of names and indexes into values.
func at(all []stackjson.Value, path string) *stackjson.Value {
	for i := range all {
		rest, ok := strings.CutPrefix(path, all[i].Name)
		switch {
		case !ok || all[i].Name == "":
		case rest == "":
			return &all[i]
		case rest[0] == '.' || rest[0] == '[':
			if v := at(all[i].Children, strings.TrimPrefix(rest, ".")); v != nil {
				return v
			}
		}
	}
	return nil
}

// TestTerminalTypes: variables outside of functions, types by their names, and a stack with variables, in a terminal.
func TestTerminalTypes(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	script := filepath.Join(t.TempDir(), "script")
	text := "config show-location-expr true\ncontinue\nvars ^counted$\nwhatis pair\nwhatis Colour\nstack -full 2\nframe 1 regs\nframe 3 whatis shape.at\nptype struct pair\nframe 3\n" +
		"ptype &shape.at\nset (&shape)->at.y = 99\nprint shape.at.y\nset (&shape)->nothing = 1\nexit\n"
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := string(clew(t, "exec", everywhere(t, "-O0"), "--allow-non-terminal-interactive", "--init", script))
	for _, want := range []string{
		"counted = 77\n", "struct type, size: 24 bytes\nReal type: struct pair\nFields:\n\ta  short int\n\tb  long int\n\tu  union {…}\n",
		"size: 4 bytes\nReal type: Colour\nFields:\n\tred    0\n\tgreen  5\n", "       depth = 204\n       text = \"inner\"\n", "       n = 4\n",
		"Rax = unknown: rax is not known in frame 1", "type = struct pair {\n    short int a;\n    long int b;\n    union {…} u;\n}\n",
		"type = struct Point {\n    int x;\n    int y;\n} *\n99\n", "Point\nlocation: memory at 0x",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not there", want)
		}
	}
	for _, want := range []string{`Rbp = 0x[0-9a-f]{16}\tsaved at 0x[0-9a-f]+, frame 0\n`, `Rip = 0x[0-9a-f]{16}\tsaved at`} {
		if !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s is not there", want)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
}
