package dap

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// sessions is how many sessions come one after another; CLEW_DAP_SESSIONS says
// another number.
func sessions(t testing.TB) int {
	n := 12
	if s := os.Getenv("CLEW_DAP_SESSIONS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// TestSessions: one server, many sessions one after another and 16 at once. Then
// it has the goroutines, file descriptors and processes that it had, and no file is left.
func TestSessions(t *testing.T) {
	_, clew := peers(t)
	exe, source := plain(t)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("XDG_RUNTIME_DIR", temp)
	s := start(t, clew, "--multi")
	pid := s.cmd.Process.Pid
	at := breakpoints(source, line(t, source, "a breakpoint goes here"))
	session := func() {
		c := s.dial()
		c.initialize()
		c.ok("launch", object{"mode": "exec", "program": exe})
		c.event("initialized")
		c.ok("setBreakpoints", at)
		c.ok("configurationDone", nil)
		thread := threadOf(t, c.event("stopped"))
		if b := c.stack(thread, 0, 20); len(b.StackFrames) < 3 {
			t.Errorf("the stack has %d frames", len(b.StackFrames))
		}
		c.disconnect()
	}
	session()
	settled := func() string {
		if left := children(t, pid); len(left) > 0 {
			return fmt.Sprintf("processes: %q", left)
		}
		entries, err := os.ReadDir(temp)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) > 0 {
			return fmt.Sprintf("files: %v", entries)
		}
		return ""
	}
	settle(t, settled)
	before := descriptors(t, pid)
	for range sessions(t) {
		session()
	}
	settle(t, settled)
	var at16 sync.WaitGroup
	for range 16 {
		at16.Go(session)
	}
	at16.Wait()
	settle(t, settled)
	settle(t, func() string {
		if after := descriptors(t, pid); len(after) > len(before) {
			return fmt.Sprintf("file descriptors: %q, before %q", after, before)
		}
		return ""
	})

	// Its goroutines are those of a server that has served one session.
	fresh := start(t, clew, "--multi")
	after := s
	s, pid = fresh, fresh.cmd.Process.Pid
	session()
	settle(t, settled)
	time.Sleep(time.Second) // what ends with a session has ended
	few, many := goroutines(t, fresh), goroutines(t, after)
	if len(many) > len(few) {
		t.Errorf("%d goroutines after all sessions, %d after one:\n%s", len(many), len(few), strings.Join(many, "\n\n"))
	}
}

// goroutines ends a server and returns the stacks of the goroutines that it had, apart
// from those of Go's runtime.
func goroutines(t testing.TB, s *server) (stacks []string) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	_ = s.wait() // the runtime ends it with status 2
	for part := range strings.SplitSeq(s.stderr.String(), "\n\n") {
		if strings.HasPrefix(part, "goroutine ") && !strings.HasPrefix(part, "goroutine 0 ") && !strings.Contains(part, "\ncreated by runtime.") {
			stacks = append(stacks, part)
		}
	}
	if len(stacks) == 0 {
		t.Fatalf("no goroutines in the server's last output: %s", s.stderr)
	}
	return stacks
}

// settle waits until nothing is left.
func settle(t testing.TB, left func() string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		what := left()
		if what == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("left over: %s", what)
		}
	}
}

// descriptors lists the open files of a process.
func descriptors(t testing.TB, pid int) (open []string) {
	t.Helper()
	folder := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if target, err := os.Readlink(filepath.Join(folder, e.Name())); err == nil {
			open = append(open, target)
		}
	}
	slices.Sort(open)
	return open
}
