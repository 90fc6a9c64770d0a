package listing

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

var clewPath string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "clew-listing-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		clewPath = filepath.Join(dir, "clew")
		if out, err := exec.Command("go", "build", "-o", clewPath, "github.com/clewdbg/clew/cmd/clew").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build clew: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
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

// goroutine is what the runtime says of one.
type goroutine struct {
	state     string
	locked    bool
	functions []string
	creator   string
	parent    uint64
}

var (
	header  = regexp.MustCompile(`^goroutine (\d+) .*\[([^,\]]+)(.*)\]:`)
	created = regexp.MustCompile(`^created by (\S+) in goroutine (\d+)`)
)

// parse reads the output of runtime.Stack.
func parse(text string) map[uint64]goroutine {
	out := map[uint64]goroutine{}
	for block := range strings.SplitSeq(text, "\n\n") {
		lines := strings.Split(block, "\n")
		h := header.FindStringSubmatch(lines[0])
		if h == nil {
			continue
		}
		id, _ := strconv.ParseUint(h[1], 10, 64)
		g := goroutine{state: h[2], locked: strings.Contains(h[3], "locked to thread")}
		for _, line := range lines[1:] {
			if c := created.FindStringSubmatch(line); c != nil {
				g.creator = c[1]
				g.parent, _ = strconv.ParseUint(c[2], 10, 64)
			} else if !strings.HasPrefix(line, "\t") && strings.Contains(line, "(") {
				g.functions = append(g.functions, line[:strings.LastIndex(line, "(")])
			}
		}
		out[id] = g
	}
	return out
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

func check(t *testing.T, s *stackjson.Stack, want goroutine, channel string) {
	t.Helper()
	if s.State == nil || s.Stop != stackjson.StopEnd {
		t.Fatalf("goroutine %d: %+v", s.Goroutine, s)
	}
	var functions []string
	for _, f := range s.Frames {
		// The runtime leaves out its own functions and the compiler's wrappers.
		if !strings.HasPrefix(f.Function, "runtime.") && !strings.Contains(f.Function, ".gowrap") && !strings.HasSuffix(f.Function, "-fm") {
			functions = append(functions, f.Function)
		}
	}
	if !slices.Equal(functions, want.functions) {
		t.Errorf("goroutine %d: %q, the runtime says %q", s.Goroutine, functions, want.functions)
	}
	if got := s.State.WaitReason; got != want.state || (s.State.LockedThread != 0) != want.locked {
		t.Errorf("goroutine %d: %q, the runtime says %q", s.Goroutine, got, want.state)
	}
	if c := s.State.CreatedBy; c == nil || c.Function != want.creator || c.Goroutine != want.parent {
		t.Errorf("goroutine %d: created by %+v, the runtime says %s in goroutine %d", s.Goroutine, c, want.creator, want.parent)
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
	for range 3 {
		stack(t, "--pid", strconv.Itoa(pid))
		time.Sleep(50 * time.Millisecond)
		if got := state(); got != "T" {
			t.Errorf("state %s after a listing of a stopped process", got)
		}
	}
}
