package listing

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

func TestMain(m *testing.M) {
	testkit.Main(m, func() error { return buildClew(testkit.Path("")) })
}

// crowd starts the program, and returns what it says of itself.
func crowd(t *testing.T, flags ...string) (pid int, own map[uint64]goroutine, channel string) {
	t.Helper()
	testneed.Ptrace(t)
	dir := t.TempDir()
	program, report := filepath.Join(dir, "crowd"), filepath.Join(dir, "report")
	build := exec.Command("go", append(append([]string{"build", "-o", program}, flags...), "./testdata/crowd")...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(program, report)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		text, _ := os.ReadFile(report)
		if before, after, ok := strings.Cut(string(text), "\nchannel "); ok {
			time.Sleep(100 * time.Millisecond) // until its last goroutine waits
			return cmd.Process.Pid, parse(before), strings.TrimSpace(after)
		}
		if time.Now().After(deadline) {
			t.Fatal("the program does not write what its goroutines do")
		}
	}
}

func stack(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(clewPath, append([]string{"stack"}, args...)...).Output()
	if err != nil {
		var exit *exec.ExitError
		errors.As(err, &exit)
		t.Fatalf("clew stack %s: %v\n%s", strings.Join(args, " "), err, exit.Stderr)
	}
	return string(out)
}

// TestGoroutines: every goroutine has the state, creator and functions that the runtime
// says it has, in stripped programs too.
func TestGoroutines(t *testing.T) {
	for name, flags := range map[string][]string{
		"plain": nil, "stripped": {"-ldflags=-s -w", "-trimpath"}, "stripped PIE": {"-ldflags=-s -w", "-buildmode=pie"},
	} {
		t.Run(name, func(t *testing.T) {
			pid, own, channel := crowd(t, flags...)
			var answer stackjson.Answer
			if err := json.Unmarshal([]byte(stack(t, "--pid", strconv.Itoa(pid), "--format", "json")), &answer); err != nil {
				t.Fatal(err)
			}
			found := 0
			for _, s := range answer.Stacks {
				want, known := own[s.Goroutine]
				if !known || s.Goroutine == 1 { // one of the runtime's; the first wrote the report
					continue
				}
				found++
				check(t, &s, want, channel)
			}
			if found != len(own)-1 || found < 30 {
				t.Errorf("%d goroutines of %d", found, len(own)-1)
			}
		})
	}
}

// TestAncestors: where the runtime keeps who led to a goroutine, the listing has what the
// runtime itself says, in stripped programs too; CBF has it as async frames.
func TestAncestors(t *testing.T) {
	t.Setenv("GODEBUG", "tracebackancestors=5")
	pid, own, _ := crowd(t, "-ldflags=-s -w")
	var answer stackjson.Answer
	if err := json.Unmarshal([]byte(stack(t, "--pid", strconv.Itoa(pid), "--format", "json")), &answer); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for i := range answer.Stacks {
		s := &answer.Stacks[i]
		want, known := own[s.Goroutine]
		if !known || s.Goroutine == 1 {
			continue
		}
		if got := ancestorsOf(s); !slices.Equal(got, want.ancestors) {
			t.Errorf("goroutine %d: %q; the runtime says %q", s.Goroutine, got, want.ancestors)
		}
		if len(want.ancestors) > 0 {
			compared++
			calls := s.State.Ancestors[0].Calls
			i := slices.IndexFunc(calls, func(c stackjson.Call) bool { return !strings.HasPrefix(c.Function, "runtime.") })
			if place(calls[i].File, calls[i].Line) != want.by {
				t.Errorf("goroutine %d: started at %+v; the runtime says %s", s.Goroutine, calls, want.by)
			}
		}
	}
	if compared < 30 {
		t.Errorf("%d goroutines have ancestors", compared)
	}
	folder := filepath.Join(t.TempDir(), "stacks")
	stack(t, "--pid", strconv.Itoa(pid), "--format", "cbf", "--ancestors", "-o", folder)
	files, err := filepath.Glob(filepath.Join(folder, "goroutine-*.cbf"))
	if err != nil || len(files) < 30 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	async := 0
	for _, file := range files {
		out, err := exec.Command(clewPath, "decode", file).Output()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(out), "async") {
			async++
		}
	}
	if async < 30 {
		t.Errorf("%d of %d backtraces have async frames", async, len(files))
	}
}

// TestStripped: a stripped program of an older release is listed as the whole one is. All
// programs and releases: `go run ./integration/bench listing stripped`.
func TestStripped(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	const release = "go1.24.6"
	testneed.Toolchain(t, release)
	c, err := builds[0].compare(t.TempDir(), release)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.faults) > 0 || c.equal < 70 || c.asSaid < 70 {
		t.Errorf("%+v", c)
	}
}

func check(t *testing.T, s *stackjson.Stack, want goroutine, channel string) {
	t.Helper()
	if problem := contradicts(s, want); problem != "" {
		t.Fatalf("goroutine %d: %s", s.Goroutine, problem)
	}
	if want.state == "chan receive" && fmt.Sprintf("%#x", uint64(s.State.WaitsOn)) != channel {
		t.Errorf("goroutine %d waits on %#x, the channel is %s", s.Goroutine, uint64(s.State.WaitsOn), channel)
	}
	if slices.Contains(want.functions, "runtime/pprof.Do") && (s.State.Labels["worker"] != "3" || s.State.Labels["kind"] != "slow") {
		t.Errorf("goroutine %d: labels %v", s.Goroutine, s.State.Labels)
	}
}

// TestPage: what a person sees first is the summary, then groups.
func TestPage(t *testing.T) {
	pid, _, channel := crowd(t)
	page := stack(t, "--pid", strconv.Itoa(pid))
	for _, want := range []string{
		fmt.Sprintf("process %d: ", pid), "GOMAXPROCS ", "stood still for ",
		"10 sync.Mutex.Lock\n", "goroutines wait on the channel at " + channel, "main.deep", "more of main.deep", "created by main.main in goroutine 1",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %q in\n%s", want, page)
		}
	}
	one := stack(t, "--pid", strconv.Itoa(pid), "--with", "label worker=3", "--group", "label")
	if !strings.Contains(one, "1 goroutine,") || !strings.Contains(one, "kind=slow") {
		t.Errorf("%s", one)
	}
}

// TestStaysStopped: a process that was stopped before is stopped afterwards, and one
// that ran goes on.
func TestStaysStopped(t *testing.T) {
	pid, _, _ := crowd(t)
	state := func() string {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))[0]
	}
	stack(t, "--pid", strconv.Itoa(pid))
	if got := state(); got == "T" || got == "t" {
		t.Errorf("state %s after a listing", got)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if state() == "T" {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	for _, way := range [][]string{nil, nil, {"--goroutine", "1"}, {"--goroutine", "1"}} {
		stack(t, append([]string{"--pid", strconv.Itoa(pid)}, way...)...)
		time.Sleep(50 * time.Millisecond)
		if got := state(); got != "T" {
			t.Errorf("state %s after clew stack %s of a stopped process", got, strings.Join(way, " "))
		}
	}
}
