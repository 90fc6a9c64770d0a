package pluginhost

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/plugin"
)

const envHost = "CLEW_TEST_HOST" // the session parent of a host to be killed

// runHost is the program that TestHostKilled kills: a host with three plugins,
// the last of which is busy.
func runHost() error {
	env := []string{quickExit}
	h, err := New(Options{
		Plugins:       []Config{{Name: "one", Env: env}, {Name: "two", Env: env}, {Name: "three", Env: env}},
		SessionParent: os.Getenv(envHost), WalkTimeout: time.Hour,
	})
	if err != nil {
		return err
	}
	for _, p := range h.Plugins() {
		if _, err := p.Walk(context.Background(), []unwind.WalkRequest{chain(2)}); err != nil {
			return err
		}
	}
	go func() { _, _ = h.Plugin("three").Walk(context.Background(), order(pcStall)) }()
	time.Sleep(50 * time.Millisecond)
	for _, s := range h.Health() {
		fmt.Println(s.PID)
	}
	fmt.Println("ready")
	select {} // until it is killed
}

// alive says whether a process exists and is no zombie.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !os.IsNotExist(err) // no procfs: what kill says
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

func waitGone(t *testing.T, pid int, limit time.Duration) {
	t.Helper()
	for deadline := time.Now().Add(limit); alive(pid); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d is there after %v", pid, limit)
		}
	}
}

// TestHostKilled: a second after kill -9 of the host there is no plugin process,
// no socket and no folder.
func TestHostKilled(t *testing.T) {
	parent := shortDir(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	host := exec.Command(self)
	host.Env = append(os.Environ(), envHost+"="+parent)
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "ready" {
		n, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatalf("the host says %q", lines.Text())
		}
		pids = append(pids, n)
	}
	if len(pids) != 3 || len(sessions(t, parent)) != 1 {
		t.Fatalf("plugins %v, session folders %v", pids, sessions(t, parent))
	}
	for _, p := range pids {
		if !alive(p) {
			t.Fatalf("plugin %d is not there before the kill", p)
		}
	}
	begin := time.Now()
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait()
	limit := testneed.Patience(time.Second)
	for _, p := range pids {
		waitGone(t, p, limit-time.Since(begin))
	}
	for len(sessions(t, parent)) > 0 {
		if time.Since(begin) > limit {
			left, _ := filepath.Glob(filepath.Join(parent, "*", "*"))
			t.Fatalf("left after %v: %v", limit, left)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// TestClose: nothing is left, even of plugins that do not want to end, and it
// does not take long.
func TestClose(t *testing.T) {
	before := runtime.NumGoroutine()
	parent := shortDir(t)
	h, err := New(Options{
		Plugins:       []Config{{Name: "good"}, {Name: "stopped"}, {Name: "stalled"}, {Name: "idle"}},
		SessionParent: parent, WalkTimeout: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, p := range h.Plugins()[:3] {
		checkWalk(t, p, 2)
		pids = append(pids, pid(t, p))
	}
	if info, err := os.Stat(sessions(t, parent)[0]); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("session folder: %v, %v", info.Mode(), err)
	}
	if err := syscall.Kill(pids[1], syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	walked := make(chan error, 1)
	go func() {
		_, err := h.Plugin("stalled").Walk(context.Background(), order(pcStall))
		walked <- err
	}()
	time.Sleep(20 * time.Millisecond)
	begin := time.Now()
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > testneed.Patience(2*time.Second) {
		t.Errorf("closing took %v", took)
	}
	if err := <-walked; !errors.Is(err, ErrClosed) {
		t.Errorf("the walk under way: %v", err)
	}
	for _, p := range pids {
		if alive(p) {
			t.Errorf("plugin %d is still there", p)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(parent, "*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if err := h.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	for _, p := range h.Plugins() {
		if _, err := p.Walk(context.Background(), []unwind.WalkRequest{chain(1)}); !errors.Is(err, ErrClosed) {
			t.Errorf("%s after closing: %v", p.Name(), err)
		}
		if s := p.health().State; s != StateClosed {
			t.Errorf("%s is %s", p.Name(), s)
		}
	}
	checkGoroutines(t, before)
}

// TestCloseWhileStarting closes at all stages of a start.
func TestCloseWhileStarting(t *testing.T) {
	before := runtime.NumGoroutine()
	for delay := time.Duration(0); delay < 24*time.Millisecond; delay += 2 * time.Millisecond {
		parent := shortDir(t)
		h, err := New(Options{Plugins: []Config{{Name: "fake"}}, SessionParent: parent})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			_, err := h.Plugins()[0].Walk(context.Background(), []unwind.WalkRequest{chain(1)})
			done <- err
		}()
		time.Sleep(delay)
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil && !errors.Is(err, ErrClosed) {
			t.Errorf("after %v: %v", delay, err)
		}
		if left := sessions(t, parent); len(left) > 0 {
			t.Errorf("after %v: left %v", delay, left)
		}
	}
	checkGoroutines(t, before)
}

func checkGoroutines(t *testing.T, before int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			var dump strings.Builder
			_ = pprof.Lookup("goroutine").WriteTo(&dump, 1)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, dump.String())
		}
	}
}

// TestGoroutinesAfterCrashes: replacing a process leaves nothing behind either.
func TestGoroutinesAfterCrashes(t *testing.T) {
	before := runtime.NumGoroutine()
	h, p, _ := newHost(t, nil)
	checkWalk(t, p, 1)
	killPlugin(t, p)
	checkWalk(t, p, 1)
	if _, err := p.Walk(context.Background(), order(pcLie)); err == nil {
		t.Error("no error")
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	checkGoroutines(t, before)
}

// TestSweep: what hosts left behind that were killed together with their
// plugins goes; folders in use, or of unknown use, stay.
func TestSweep(t *testing.T) {
	parent := shortDir(t)
	mk := func(name string) string {
		dir := filepath.Join(parent, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	dead := mk(plugin.SessionPrefix + "dead")
	if err := os.WriteFile(filepath.Join(dead, plugin.LockName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	young := mk(plugin.SessionPrefix + "young")
	old := mk(plugin.SessionPrefix + "old")
	long := time.Now().Add(-2 * lockGrace)
	if err := os.Chtimes(old, long, long); err != nil {
		t.Fatal(err)
	}
	other := mk("clew-other")
	link := filepath.Join(parent, plugin.SessionPrefix+"link")
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	living, err := newSession(parent)
	if err != nil {
		t.Fatal(err)
	}
	sweep(parent)
	for path, want := range map[string]bool{dead: false, young: true, old: false, other: true, link: true, living.dir: true} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", filepath.Base(path), err, want)
		}
	}
	if err := living.remove(); err != nil {
		t.Error(err)
	}
}

// TestLongParent: sockets have short paths, whatever TMPDIR says.
func TestLongParent(t *testing.T) {
	parent := filepath.Join(shortDir(t), strings.Repeat("long", 20))
	if err := os.Mkdir(parent, 0o700); err != nil {
		t.Fatal(err)
	}
	_, p, _ := newHost(t, func(o *Options) { o.SessionParent = parent })
	checkWalk(t, p, 2)
}

func TestConfig(t *testing.T) {
	sum := strings.Repeat("00", 32)
	for reason, plugins := range map[string][]Config{
		"a name is":                    {{Name: "Upper"}},
		"there are two of that name":   {{Name: "a"}, {Name: "a"}},
		"is not absolute":              {{Name: "a", Path: "plugin", SHA256: sum}},
		"is not 64 hexadecimal digits": {{Name: "a", Path: "/plugin"}},
		"but no path":                  {{Name: "a", SHA256: sum}},
	} {
		var wrong *ConfigError
		if _, err := New(Options{Plugins: plugins}); !errors.As(err, &wrong) || !strings.Contains(err.Error(), reason) {
			t.Errorf("got %v, want %q", err, reason)
		}
	}
	h, err := New(Options{Plugins: []Config{{Name: "b", Rank: 2}, {Name: "c", Rank: 3}, {Name: "a", Rank: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	var names string
	for _, p := range h.Plugins() {
		names += p.Name()
	}
	if names != "abc" || h.Plugin("b").Rank() != 2 || h.Plugin("x") != nil {
		t.Errorf("by rank: %s", names)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}
