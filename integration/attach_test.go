package integration

import (
	"fmt"
	"os"
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

// parked is a running program with a goroutine blocked in Go, one in C, and a
// thread of C's, the last two in the innermost function of native.c.
type parked struct {
	pid     int
	stem    string
	threads []uint64 // those with a record
}

// park starts the scenario "many" and waits for it.
func park(t testing.TB, p program.Program, stop string) parked {
	t.Helper()
	testneed.Ptrace(t)
	stem := filepath.Join(t.TempDir(), "record")
	cmd := exec.Command(p.Path, "many", stop, stem)
	cmd.Env = p.Env()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed is what we want
	})
	return awaitParked(t, cmd.Process.Pid, stem, stop)
}

// awaitParked waits until everybody is where it stays.
func awaitParked(t testing.TB, pid int, stem, stop string) parked {
	t.Helper()
	k := parked{pid: pid, stem: stem}
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		k.threads = k.threads[:0]
		names, err := filepath.Glob(stem + ".*")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if tid, err := strconv.ParseUint(strings.TrimPrefix(name, stem+"."), 10, 64); err == nil {
				k.threads = append(k.threads, tid)
			}
		}
		if len(k.threads) == 2 && !slices.ContainsFunc(k.threads, func(tid uint64) bool { return !k.stays(t, tid, stop) }) {
			return k
		}
		if time.Now().After(end) {
			t.Fatalf("the program did not park: records of %v", k.threads)
		}
	}
}

// stays says that a thread whose record is written has reached its last function:
// it is in the system call pause, or has used up time since.
func (k parked) stays(t testing.TB, tid uint64, stop string) bool {
	t.Helper()
	if stop != "spin" {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", k.pid, tid))
		return err == nil && strings.HasPrefix(string(data), "34 ") // SYS_pause
	}
	before := k.ticks(t, tid)
	for end := time.Now().Add(patience); k.ticks(t, tid) < before+3; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// ticks is the processor time that a thread has used, in the kernel's unit.
func (k parked) ticks(t testing.TB, tid uint64) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", k.pid, tid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	const utime = 14 - 3 // proc(5); the first field here is the third
	n, err := strconv.Atoi(fields[utime])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (k parked) args(flags ...string) []string {
	return append([]string{"stack", "--pid", strconv.Itoa(k.pid)}, flags...)
}

var startedByMany = []string{"main.many.gowrap*?", "runtime.goexit"}

// expect is the truth about a thread with a record.
func (k parked) expect(t testing.TB, thread uint64, stop string) []program.Expected {
	t.Helper()
	want := program.Expect(readRecord(t, k.stem, thread), []program.GoNames{append(program.Calls("main._Cfunc_outer", "main.second", "main.first"), startedByMany...)})
	if stop == "sleep" { // stands in libc
		want[0].Kind = ""
		want = append([]program.Expected{{What: "libc's pause", Name: "*", Kind: "pc"}}, want...)
	}
	return want
}

// check compares the stacks of the parked threads, want of them, with their
// records.
func (k parked) check(t testing.TB, v program.Variant, stacks []stackjson.Stack, stop string, want int) (all program.Findings) {
	t.Helper()
	maps := mappings(t, fmt.Sprintf("/proc/%d/maps", k.pid))
	found := 0
	for i := range stacks {
		stack := &stacks[i]
		var bad program.Findings
		bad.CheckForm(stack, maps)
		if slices.Contains(k.threads, stack.Thread) {
			found++
			if want := k.expect(t, stack.Thread, stop); v.Undescribed {
				bad.CheckHonest(stack, want)
			} else {
				bad.CheckExact(stack, want)
			}
		}
		if len(bad) > 0 {
			record, _ := os.ReadFile(k.stem + "." + itoa(stack.Thread))
			t.Logf("%s\nclew's stack:\n%sthe program's record:\n%s", strings.Join(bad, "\n"), show(stack), record)
		}
		all = append(all, bad...)
	}
	if found != want {
		all.Add("WRONG: %d of the parked threads have a stack, want %d", found, want)
	}
	return all
}

// checkParked looks for the one goroutine that waits in a function of main's, and
// compares its stack by names.
func checkParked(t testing.TB, stacks []stackjson.Stack, in string, callers ...string) {
	t.Helper()
	var want []program.Expected
	for _, n := range append([]string{"runtime.gopark", "runtime.chanrecv", "runtime.chanrecv1", in}, callers...) {
		name, optional := strings.CutSuffix(n, "?")
		want = append(want, program.Expected{What: name, Name: name, Optional: optional})
	}
	found := 0
	for i := range stacks {
		if !slices.ContainsFunc(stacks[i].Frames, func(f stackjson.Frame) bool { return f.Function == in }) {
			continue
		}
		found++
		if f := stacks[i].Frames[0]; f.Kind != stackjson.KindRA {
			t.Errorf("the first PC of a parked goroutine is a return address; clew says %s", f.Kind)
		}
		// Everywhere else the first is an instruction, see checkFrame.
		stack := stacks[i]
		stack.Frames = slices.Clone(stack.Frames)
		stack.Frames[0].Kind = stackjson.KindPC
		var bad program.Findings
		bad.CheckExact(&stack, want)
		report(t, bad, "")
		if len(bad) > 0 {
			t.Logf("clew's stack:\n%s", show(&stacks[i]))
		}
	}
	if found != 1 {
		t.Errorf("%d goroutines wait in %s, want 1", found, in)
	}
}

// TestAttach compares the stacks of a running program with its records.
func TestAttach(t *testing.T) {
	for _, v := range program.Variants {
		for _, stop := range []string{"spin", "syscall", "sleep"} {
			if v.Linkage == program.Opened && stop == "spin" || v.Linkage == program.Static && stop == "sleep" && v.Undescribed {
				continue // nothing new
			}
			t.Run(v.Name+"-"+stop, func(t *testing.T) {
				t.Parallel()
				p := build(t, v)
				k := park(t, p, stop)
				all := clew(t, k.args("--thread", "all", "--format", "json")...)
				bad := k.check(t, v, all.stacks(t), stop, 2)
				goroutines := clew(t, k.args("--goroutine", "all", "--format", "json")...).stacks(t)
				bad = append(bad, k.check(t, v, goroutines, stop, 1)...)
				report(t, bad, gapOf(t))
				checkParked(t, goroutines, "main.blocked", startedByMany...)
				checkParked(t, goroutines, "main.many", program.ToMain...)
				k.goesOn(t)
			})
		}
	}
}

// goesOn demands that clew has left the program running.
func (k parked) goesOn(t testing.TB) {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", k.pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "State:") && strings.Contains(line, "t (") || strings.HasPrefix(line, "State:") && strings.Contains(line, "T (") {
			t.Errorf("the program stays behind stopped: %s", line)
		}
		if pid, ok := strings.CutPrefix(line, "TracerPid:"); ok && strings.TrimSpace(pid) != "0" {
			t.Errorf("the program is still traced: %s", line)
		}
	}
}

// TestOneOf asks for single threads and goroutines.
func TestOneOf(t *testing.T) {
	v := variantNamed(t, "static-O1-g-fp")
	k := park(t, build(t, v), "syscall")
	for _, tid := range k.threads {
		stacks := clew(t, k.args("--thread", itoa(tid), "--format", "json")...).want(t, done).stacks(t)
		report(t, k.check(t, v, stacks, "syscall", 1), "")
		if g := stacks[0].Goroutine; g != 0 {
			report(t, k.check(t, v, clew(t, k.args("--goroutine", itoa(g), "--format", "json")...).want(t, done).stacks(t), "syscall", 1), "")
		}
	}
	few := clew(t, k.args("--thread", itoa(k.threads[0]), "--depth", "2", "--format", "json")...).want(t, truncated).stacks(t)[0]
	if len(few.Frames) != 2 || few.Stop != stackjson.StopTruncated {
		t.Errorf("--depth 2 gave %s", show(&few))
	}
	for _, args := range [][]string{{"--thread", "1"}, {"--goroutine", "999999"}} {
		clew(t, k.args(args...)...).oneLine(t, failed, "there is no", args[1])
	}
}
