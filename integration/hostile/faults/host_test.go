//go:build linux

package faults

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// way is how clew is busy when it is hit.
type way struct {
	name   string
	attach bool
	// arguments of clew, besides --pid or the program
	flags []string
	// program's arguments, where it is launched
	program []string
	// stuck: clew's output goes into a full pipe, so that the program stands
	// stopped until clew ends.
	stuck bool
	// ready says that clew is where it should be hit; nil for any moment from its
	// start on.
	ready func(r *running) bool
}

const deepFrames = 20_000

var ways = []way{
	{name: "launch", flags: []string{"--format", "json"}, program: []string{"deep", fmt.Sprint(deepFrames)}},
	{name: "launch-break", flags: []string{"--break", "landmark"}, program: []string{"wait", fmt.Sprint(deepFrames)}},
	{name: "launch-waiting", flags: []string{"--break", "nowhere"}, program: []string{"wait", "3"}, ready: func(r *running) bool {
		return strings.Contains(r.stderr.String(), "waiting for a library")
	}},
	{name: "launch-stopped", flags: []string{"--format", "json"}, program: []string{"deep", fmt.Sprint(deepFrames)}, stuck: true, ready: (*running).isStuck},
	{name: "attach", attach: true, flags: []string{"--format", "json", "--goroutine", "current"}},
	{name: "attach-stopped", attach: true, flags: []string{"--format", "json", "--goroutine", "current"}, stuck: true, ready: (*running).isStuck},
}

// hit runs clew in that way and hits it after delay with a signal; it returns
// clew, ended, and whether the signal came before clew's own end.
func (w way) hit(t *testing.T, delay time.Duration, sig syscall.Signal) (r *running, inTime bool) {
	t.Helper()
	args := append([]string{"stack"}, w.flags...)
	var pid int
	var pulseFile string
	if w.attach {
		pid, pulseFile = patient(t, deepFrames)
		args = append(args, "--pid", fmt.Sprint(pid))
	} else {
		args = append(append(args, "--", patientPath()), w.program...)
		args = append(args, filepath.Join(t.TempDir(), "pulse"))
	}
	if w.stuck {
		r = startStuck(t, args...)
	} else {
		r = start(t, nil, args...)
	}
	if w.ready != nil && !r.until("clew being "+w.name, func() bool { return w.ready(r) }) {
		// It was quicker than we look.
		if code := r.wait(); code != 0 {
			t.Fatalf("clew ended by itself: exit code %d, stderr %s", code, r.stderr.String())
		}
		r.gone(!w.attach)
		return r, false
	}
	time.Sleep(delay)
	inTime = !r.over()
	r.kill(sig)
	r.wait()
	r.gone(!w.attach)
	if w.attach {
		goesOn(t, pid, pulseFile)
	}
	return r, inTime
}

// span is how long clew takes in that way when nothing happens.
func (w way) span(t *testing.T) time.Duration {
	t.Helper()
	if w.ready != nil {
		return 100 * time.Millisecond
	}
	r, _ := w.hit(t, 0, syscall.Signal(0)) // no signal at all
	if code := r.cmd.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("undisturbed: exit code %d, stderr %s", code, r.stderr.String())
	}
	return r.took
}

// TestKillHost kills clew at random moments.
func TestKillHost(t *testing.T) {
	need(t)
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			rng := random(t)
			span := w.span(t)
			hits, n := 0, rounds(8)
			for i := range n {
				delay := moment(rng, span)
				t.Run(fmt.Sprint(i), func(t *testing.T) {
					t.Logf("killed after %v of %v", delay, span)
					if _, inTime := w.hit(t, delay, syscall.SIGKILL); inTime {
						hits++
					}
				})
			}
			t.Logf("%d of %d killed before their own end", hits, n)
			if hits == 0 {
				t.Error("no kill hit a running clew")
			}
		})
	}
	t.Logf("the last was gone after %v", slowest)
}
