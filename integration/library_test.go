package integration

import (
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clewdbg/clew/integration/internal/hosted"
	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

var buildHosted = sync.OnceValues(func() (p hosted.Programs, err error) {
	cc, err := testneed.Compiler.Find()
	if err != nil {
		return p, err
	}
	return hosted.Build(testkit.Path("hosted"), cc)
})

// TestGoInLibrary: a program of C's gets Go with a library. The stack of the Go code
// that it calls goes on into C, by the return addresses that C has recorded, while Go
// runs and while it waits.
func TestGoInLibrary(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.CC(t)
	testneed.Ptrace(t)
	p, err := buildHosted()
	if err != nil {
		t.Fatal(err)
	}
	for name, exe := range map[string]string{"linked": p.Linked, "opened": p.Opened} {
		t.Run(name+"/runs", func(t *testing.T) {
			record := filepath.Join(t.TempDir(), "record")
			stacks := clew(t, "stack", "--break", "main.wait", "--format", "json", "--", exe, record).want(t, done).stacks(t)
			if len(stacks) != 1 || stacks[0].Goroutine == 0 {
				t.Fatalf("%d stacks", len(stacks))
			}
			intoC(t, &stacks[0], record, "main.wait")
		})
		t.Run(name+"/waits", func(t *testing.T) {
			record := filepath.Join(t.TempDir(), "record")
			cmd := exec.Command(exe, record)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = cmd.Process.Kill()
				_ = cmd.Wait() // killed is what we want
			}()
			for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
				if _, err := hosted.Record(record); err == nil {
					break
				}
				if time.Now().After(end) {
					t.Fatal("no record")
				}
			}
			stack := awaitWaiting(t, cmd.Process.Pid, "main.wait")
			intoC(t, &stack, record, "runtime.gopark", "time.Sleep", "main.wait")
		})
	}
}

// intoC demands that a stack begins with these functions of Go's, that its code of C
// follows by the record, and that it is whole.
func intoC(t testing.TB, stack *stackjson.Stack, record string, functions ...string) {
	t.Helper()
	want, err := hosted.Record(record)
	if err != nil || len(want) != 2 {
		t.Fatalf("%#x, %v", want, err)
	}
	if stack.Stop != stackjson.StopEnd {
		t.Errorf("the stack is not complete: %s: %s", stack.Stop, stack.Reason)
	}
	for i, f := range functions {
		if len(stack.Frames) <= i || stack.Frames[i].Function != f {
			t.Errorf("frame %d is not in %s", i, f)
		}
	}
	var got []uint64
	entered := false
	for _, f := range stack.Frames {
		if entered {
			got = append(got, uint64(f.PC))
		}
		entered = entered || f.Function == "Work" // cgo's function in C
	}
	if len(got) < 3 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("C's return addresses are %#x, want %#x first", got, want)
	}
	if t.Failed() {
		t.Logf("clew's stack:\n%s", show(stack))
	}
}

// TestNeverGo: a program of C's that never loads Go runs to its end.
func TestNeverGo(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	for _, args := range [][]string{{"stack", "--", "/bin/true"}, {"stack", "--break", "main.main", "--", "/bin/true"}} {
		o := clew(t, args...)
		o.want(t, failed)
		for _, w := range []string{"status 0", "not a Go program itself"} {
			if !strings.Contains(o.stderr, w) {
				t.Errorf("%v does not say %q: %v", args, w, o)
			}
		}
	}
}
