//go:build linux

package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/unwind/plugin"
)

// patience is far above what any run takes, on a loaded machine too.
const patience = 2 * time.Minute

// running is a clew at work, in a session folder of its own.
type running struct {
	t              testing.TB
	cmd            *exec.Cmd
	tmp            string
	stdout, stderr output
	pipe           *os.File // the end of an output without a reader, where there is one
	ended          chan struct{}
	began          time.Time
	took           time.Duration // valid once it has ended
}

// output is the output of a process so far.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// startStuck starts clew with an output that is never read.
func startStuck(t testing.TB, args ...string) *running {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = read.Close() })
	defer write.Close()
	r := start(t, write, args...)
	r.pipe = read
	return r
}

// isStuck says that clew has filled the pipe: it has its stacks and holds the
// program for as long as it cannot write.
func (r *running) isStuck() bool {
	const almost = 60 << 10 // of a pipe's 64 KiB (pipe(7))
	n, err := unix.IoctlGetInt(int(r.pipe.Fd()), unix.TIOCINQ)
	return err == nil && n >= almost
}

// start starts clew; stdout is where its output goes, nil to keep it.
func start(t testing.TB, stdout *os.File, args ...string) *running {
	t.Helper()
	tmp, err := os.MkdirTemp(testkit.Path(""), "t")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(tmp) })
	r := &running{t: t, cmd: exec.Command(clewPath(), args...), tmp: tmp, ended: make(chan struct{}), began: time.Now()}
	r.cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	if stdout != nil {
		r.cmd.Stdout = stdout
	}
	// Who holds on to the pipes after clew's end is found by gone.
	r.cmd.WaitDelay = 10 * time.Second
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.ended)
		_ = r.cmd.Wait()
		r.took = time.Since(r.began)
	}()
	t.Cleanup(func() { r.kill(syscall.SIGKILL); <-r.ended })
	return r
}

func (r *running) pid() int { return r.cmd.Process.Pid }

func (r *running) kill(s syscall.Signal) { _ = r.cmd.Process.Signal(s) }

// over says that clew has ended.
func (r *running) over() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

// wait waits for the end and returns the exit code, -1 for a signal.
func (r *running) wait() int {
	r.t.Helper()
	select {
	case <-r.ended:
	case <-time.After(patience):
		r.t.Fatalf("clew %s hangs; stderr: %s", strings.Join(r.cmd.Args[1:], " "), r.stderr.String())
	}
	return r.cmd.ProcessState.ExitCode()
}

// until waits for a condition while clew runs; false if clew ends before.
func (r *running) until(what string, condition func() bool) bool {
	r.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if condition() {
			return true
		}
		if r.over() {
			return false
		}
	}
	r.t.Fatalf("waited in vain for %s", what)
	return false
}

// stacks reads the JSON that clew has printed.
func (r *running) stacks() []stackjson.Stack {
	r.t.Helper()
	return parse(r.t, []byte(r.stdout.String()), r.stderr.String())
}

func parse(t testing.TB, data []byte, stderr string) []stackjson.Stack {
	t.Helper()
	var answer stackjson.Answer
	if err := json.Unmarshal(data, &answer); err != nil {
		t.Fatalf("no answer: %v; it begins %.300q; stderr: %s", err, data, stderr)
	}
	if len(answer.Stacks) == 0 {
		t.Fatalf("no stack; stderr: %s", stderr)
	}
	return answer.Stacks
}

// patient starts the program in its scenario "wait" and returns when it beats.
func patient(t testing.TB, frames int) (pid int, pulseFile string) {
	t.Helper()
	pulseFile = filepath.Join(t.TempDir(), "pulse")
	cmd := exec.Command(patientPath(), "wait", fmt.Sprint(frames), pulseFile)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		var exit *exec.ExitError
		if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
			t.Error(err)
		}
	})
	if problem, _ := within(patience, func() string {
		if c, g := pulse(pulseFile); c == 0 || g == 0 {
			return "the program does not begin"
		}
		return ""
	}); problem != "" {
		t.Fatal(problem)
	}
	return cmd.Process.Pid, pulseFile
}

// leftOf lists the remains of a clew that has ended: "" for none.
func (r *running) leftOf(launched bool) string {
	var left []string
	for pid, args := range processes(r.t, clewPath()) {
		left = append(left, fmt.Sprintf("process %d, state %s: %s", pid, state(pid), strings.Join(args, " ")))
	}
	if launched {
		for pid := range processes(r.t, patientPath()) {
			left = append(left, fmt.Sprintf("the program, process %d, state %s", pid, state(pid)))
		}
	}
	_ = filepath.WalkDir(r.tmp, func(path string, _ os.DirEntry, err error) error {
		if err == nil && path != r.tmp {
			left = append(left, path)
		}
		return nil
	})
	return strings.Join(left, "; ")
}

// onlyFolder says that all that is left is a session folder with its lock, and
// perhaps the folder that go-plugin makes for the next plugin's socket.
func (r *running) onlyFolder(launched bool) bool {
	if len(processes(r.t, clewPath())) > 0 || launched && len(processes(r.t, patientPath())) > 0 {
		return false
	}
	others := 0
	_ = filepath.WalkDir(r.tmp, func(path string, e os.DirEntry, err error) error {
		folder := err == nil && e.IsDir() && (strings.HasPrefix(e.Name(), plugin.SessionPrefix) || strings.HasPrefix(e.Name(), "plugin-dir"))
		if err == nil && path != r.tmp && !folder && !strings.HasPrefix(e.Name(), plugin.LockName) {
			others++
		}
		return nil
	})
	return others == 0
}

// gone fails the test unless everything is gone within a second.
func (r *running) gone(launched bool) {
	r.t.Helper()
	limit := second()
	problem, took := within(limit, func() string { return r.leftOf(launched) })
	if problem != "" && r.onlyFolder(launched) {
		// Killed in the moment between making the folder and starting the first
		// plugin, who would have removed it. There is nothing in it but the lock;
		// the next clew sweeps it.
		r.t.Logf("left for the next clew: %s", problem)
		next := exec.Command(clewPath(), "plugins")
		next.Env = r.cmd.Env
		if out, err := next.CombinedOutput(); err != nil {
			r.t.Errorf("clew plugins: %v: %s", err, out)
		}
		// A folder without its lock may be one that is being made: it stays for a
		// minute.
		if problem = r.leftOf(launched); !strings.Contains(problem, "/"+plugin.LockName) {
			problem = ""
		}
	}
	if problem != "" {
		r.t.Errorf("%v after the end of clew there is still: %s", limit.Round(time.Millisecond), problem)
		for pid := range processes(r.t, patientPath()) {
			if launched {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		for pid := range processes(r.t, clewPath()) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		return
	}
	slowest = max(slowest, took)
}

// slowest is the longest that anything took to be gone.
var slowest time.Duration

// goesOn fails the test unless a program that clew was attached to runs within a
// second, with its own code.
func goesOn(t testing.TB, pid int, pulseFile string) {
	t.Helper()
	c0, g0 := pulse(pulseFile)
	problem, _ := within(second(), func() string {
		switch s := state(pid); s {
		case "T", "t", "":
			return fmt.Sprintf("the program is in state %q", s)
		}
		if c, g := pulse(pulseFile); c <= c0+1 || g <= g0+1 {
			return fmt.Sprintf("the program stands still: C %d to %d, Go %d to %d", c0, c, g0, g)
		}
		return codeDiffers(t, pid, patientPath())
	})
	if problem != "" {
		t.Errorf("after the end of clew: %s", problem)
	}
}
