package jit

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// buildWazero builds the program that runs WebAssembly. Its module is not clew's.
func buildWazero(t *testing.T, flags ...string) string {
	t.Helper()
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	get := exec.Command("go", "mod", "download")
	get.Dir = filepath.Join("testdata", "wazero")
	if out, err := get.CombinedOutput(); err != nil {
		testneed.LeaveOut(t, "wazero cannot be had: %v\n%s", err, out)
	}
	return build(t, "wazero", flags...)
}

// whileItLoops starts a program and calls look with its process ID once it has said that it
// loops.
func whileItLoops(t *testing.T, program string, args []string, look func(pid string)) {
	t.Helper()
	cmd := exec.Command(program, args...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed is what we want
	}()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	look(fmt.Sprint(cmd.Process.Pid))
}

// inWebAssembly returns the stack of a process while its first frame satisfies a condition:
// right behind the line that it has written it is on its way back to WebAssembly.
func inWebAssembly(t *testing.T, pid string, is func(*stackjson.Frame) bool) stackjson.Stack {
	t.Helper()
	for range 20 {
		stdout, _ := run(t, clewPath(), "stack", "--pid", pid, "--goroutine", "current", "--format", "json")
		var answer stackjson.Answer
		if err := json.Unmarshal([]byte(stdout), &answer); err != nil || len(answer.Stacks) != 1 {
			t.Fatalf("%v: %s", err, stdout)
		}
		if s := answer.Stacks[0]; len(s.Frames) > 0 && is(&s.Frames[0]) {
			return s
		}
	}
	t.Fatal("it does not get there")
	return stackjson.Stack{}
}

// The Go functions that a stack goes on with behind WebAssembly that Go's main has called.
var entered = []string{"wazevo/backend/isa/amd64.afterGoFunctionCallEntrypoint", "wazevo.(*callEngine).callWithStack", "wazevo.(*callEngine).Call"}

// TestWazero: WebAssembly that wazero has compiled is one row with as many frames as the
// program has called, and behind it comes the Go that called it: in the outermost call, deep
// enough that wazero moves its stack, behind calls that are over, and in a call out of a
// call.
func TestWazero(t *testing.T) {
	program := buildWazero(t)
	for _, c := range []struct {
		how   string
		depth int
		then  []string
	}{
		{"plain", 20, []string{"main.main"}},
		{"plain", 3000, []string{"main.main"}},
		{"deeper", 5, []string{"main.main"}},
		{"nested", 7, []string{"main.callInner", "main.main.func1"}},
	} {
		t.Run(fmt.Sprintf("%s-%d", c.how, c.depth), func(t *testing.T) {
			whileItLoops(t, program, []string{c.how, fmt.Sprint(c.depth)}, func(pid string) {
				stack := inWebAssembly(t, pid, func(f *stackjson.Frame) bool { return f.Group != "" })
				frames := c.depth + 2 // f for each number down to 0, and what enters it
				group := fmt.Sprintf("wazero: generated code, %d frames without names", frames)
				for i, f := range stack.Frames[:min(frames, len(stack.Frames))] {
					if f.Group != group {
						t.Fatalf("frame %d: %+v, want the group %q", i, f, group)
					}
				}
				for i, name := range slices.Concat(entered, c.then) {
					if f := stack.Frames[frames+i]; !strings.HasSuffix(f.Function, name) || f.Group != "" || f.Trust != stackjson.TrustCFI {
						t.Errorf("%+v, want %s", f, name)
					}
				}
				last := stack.Frames[len(stack.Frames)-3:]
				if last[0].Function != "main.main" || last[2].Function != "runtime.goexit" {
					t.Errorf("%+v", last)
				}
				text, _ := run(t, clewPath(), "stack", "--pid", pid, "--goroutine", "current")
				if !strings.Contains(text, fmt.Sprintf("  0-%d  ", frames-1)) || strings.Count(text, group) != 1 {
					t.Errorf("%s", text)
				}
			})
		})
	}
}

// TestWazeroNamed: with its perf map wazero's code has names, and nothing is grouped.
func TestWazeroNamed(t *testing.T) {
	program := buildWazero(t, "-tags", "perfmap")
	whileItLoops(t, program, []string{"plain", "3"}, func(pid string) {
		stack := inWebAssembly(t, pid, func(f *stackjson.Frame) bool { return strings.Contains(f.Function, "]f:") })
		for i, f := range stack.Frames[:5] {
			if want := map[bool]string{true: "entry_preamble", false: "]f:"}[i == 4]; !strings.Contains(f.Function, want) || f.Group != "" {
				t.Errorf("frame %d: %+v, want %s", i, f, want)
			}
		}
		if f := stack.Frames[5]; !strings.HasSuffix(f.Function, entered[0]) {
			t.Errorf("%+v", f)
		}
	})
}
