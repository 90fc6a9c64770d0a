package integration

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// TestParkedInCallback: a goroutine that C has called and that waits is on no thread,
// and the C code below it is on that of the call, as the record says.
func TestParkedInCallback(t *testing.T) {
	testneed.Ptrace(t)
	inGo := program.Calls("runtime.gopark", "time.Sleep", "main.waiting", "main.pour")
	for scenario, groups := range map[string][]program.GoNames{
		"nested-waiting": {inGo,
			program.Calls("main._Cfunc_outer_calling", "main.calling2", "main.pour"),
			program.AndMain("main._Cfunc_outer_calling", "main.calling")},
		"thread-waiting": {inGo},
	} {
		for _, name := range []string{"static-O1-g-fp", "linked-O2-omit-stripped", "static-O2-omit-notables"} {
			t.Run(scenario+"/"+name, func(t *testing.T) {
				t.Parallel()
				v := variantNamed(t, name)
				p := build(t, v)
				stem := filepath.Join(t.TempDir(), "record")
				cmd := exec.Command(p.Path, scenario, "int3", stem)
				cmd.Env = p.Env()
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				defer func() {
					_ = cmd.Process.Kill()
					_ = cmd.Wait() // killed is what we want
				}()
				stack := awaitWaiting(t, cmd.Process.Pid, "main.waiting")
				record := readRecord(t, stem, recorded(t, stem))
				want := program.Expect(record, groups)
				want[0].Kind = "" // saved when it was parked: a return address
				var bad program.Findings
				maps := mappings(t, fmt.Sprintf("/proc/%d/maps", cmd.Process.Pid))
				bad.CheckForm(&stack, maps)
				stack.Frames[0].Kind = stackjson.KindPC // see checkParked
				if v.Undescribed {
					bad.CheckHonest(&stack, want)
				} else {
					bad.CheckExact(&stack, want)
				}
				report(t, bad, "")
				if len(bad) > 0 {
					t.Logf("clew's stack:\n%s", show(&stack))
				}
			})
		}
	}
}

// awaitWaiting returns the stack of the goroutine that is parked below a function.
func awaitWaiting(t testing.TB, pid int, function string) stackjson.Stack {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		for _, s := range clew(t, "stack", "--pid", strconv.Itoa(pid), "--goroutine", "all", "--format", "json").stacks(t) {
			if s.Thread == 0 && slices.ContainsFunc(s.Frames, func(f stackjson.Frame) bool { return f.Function == function }) {
				return s
			}
		}
	}
	t.Fatalf("no goroutine waits in %s", function)
	return stackjson.Stack{}
}

// recorded is the thread that has a record.
func recorded(t testing.TB, stem string) uint64 {
	t.Helper()
	names, err := filepath.Glob(stem + ".*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if tid, err := strconv.ParseUint(strings.TrimPrefix(name, stem+"."), 10, 64); err == nil {
			return tid
		}
	}
	t.Fatalf("no record: %v", names)
	return 0
}
