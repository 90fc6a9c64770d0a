package interpose

import (
	"errors"
	"os"
	"testing"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/internal/procfs"
)

// ranGroup is what runs a group of no processes.
type ranGroup struct {
	calls []string
	err   error
}

func (g *ranGroup) ContinueOnce(*proc.ContinueOnceContext) (proc.Thread, proc.StopReason, error) {
	g.calls = append(g.calls, "continue")
	return nil, proc.StopManual, g.err
}

func (g *ranGroup) StepInstruction(int) error { g.calls = append(g.calls, "step"); return g.err }
func (g *ranGroup) Detach(int, bool) error    { g.calls = append(g.calls, "detach"); return g.err }
func (g *ranGroup) Close() error              { return nil }

// recording is one of a program, which has no process.
type recording struct{ proc.RecordingManipulation }

func (recording) Recorded() (bool, string) { return true, "" }

// TestRunnerOf: the runner is put before what runs a group, once.
func TestRunnerOf(t *testing.T) {
	below := &ranGroup{}
	group, _ := proc.NewGroup(below, proc.NewTargetGroupConfig{})
	group.RecordingManipulation = recording{}
	r, err := RunnerOf(group)
	if err != nil || r.ProcessGroup != proc.ProcessGroup(below) {
		t.Fatalf("%+v, %v", r, err)
	}
	if again, err := RunnerOf(group); again != r || err != nil {
		t.Errorf("again: %p, want %p: %v", again, r, err)
	}
	if held, err := internals.ProcessGroup(group); err != nil || *held != proc.ProcessGroup(r) {
		t.Errorf("%v, %v", held, err)
	}
}

// TestRunnerPasses: whatever runs the program changes the moment, and passes what the
// group answers.
func TestRunnerPasses(t *testing.T) {
	below := &ranGroup{err: errors.New("gone")}
	group, _ := proc.NewGroup(below, proc.NewTargetGroupConfig{})
	group.RecordingManipulation = recording{}
	r := &Runner{ProcessGroup: below, group: group}
	for i, run := range []func() error{
		func() error { _, _, err := r.ContinueOnce(nil); return err },
		func() error { return r.StepInstruction(1) },
		func() error { return r.Detach(1, true) },
		func() error { return r.Detach(1, false) },
	} {
		before := Moment()
		if err := run(); !errors.Is(err, below.err) || Moment() == before || len(below.calls) != i+1 {
			t.Errorf("%d: %v, %v", i, err, below.calls)
		}
	}
	below.err = nil
	if _, reason, err := r.ContinueOnce(nil); err != nil || reason != proc.StopManual || !r.resumed {
		t.Errorf("%v, %v, %v", reason, err, r.resumed)
	}
}

// unplaced is a step whose breakpoints cannot be placed.
type unplaced struct{}

func (unplaced) Place() error   { return &OutsideCodeError{Addr: 1} }
func (unplaced) CheckReplaced() {}

// TestRunnerRefuses: where a breakpoint cannot be placed nothing runs, and whoever waits
// for the program to run is told.
func TestRunnerRefuses(t *testing.T) {
	below := &ranGroup{}
	group, _ := proc.NewGroup(below, proc.NewTargetGroupConfig{})
	r := &Runner{ProcessGroup: below, group: group, Armed: unplaced{}}
	resumed := make(chan struct{})
	var outside *OutsideCodeError
	if _, _, err := r.ContinueOnce(&proc.ContinueOnceContext{ResumeChan: resumed}); !errors.As(err, &outside) {
		t.Errorf("%v", err)
	}
	<-resumed
	if len(below.calls) != 0 || r.resumed {
		t.Errorf("it has run: %v", below.calls)
	}
}

// TestSwitches: a process that runs has context switches, and one that does not exist
// has none.
func TestSwitches(t *testing.T) {
	if switches(os.Getpid()) == 0 || switches(1<<30) != 0 {
		t.Errorf("%d, %d", switches(os.Getpid()), switches(1<<30))
	}
}

// TestHasTrap reads sets of signals.
func TestHasTrap(t *testing.T) {
	status := procfs.Status("Name:\tx\nSigPnd:\t0000000000000010\nShdPnd:\t0000000000000020\nSigBlk:\tnonsense\n")
	for set, want := range map[string]bool{"SigPnd": true, "ShdPnd": false, "SigBlk": false, "SigCgt": false} {
		if hasTrap(status, set) != want {
			t.Errorf("%s: %v", set, !want)
		}
	}
}
