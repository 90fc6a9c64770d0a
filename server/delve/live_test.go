package delve

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/stepping"
	"github.com/clewdbg/clew/unwind"
)

// folder holds what tests build. Nothing is built while a program is debugged: Delve
// waits for any child.
var folder string

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "clew-delve"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

var stops = sync.OnceValues(func() (string, error) {
	path := filepath.Join(folder, "stops")
	out, err := exec.Command("go", "build", "-o", path, "./testdata/stops").CombinedOutput()
	if err != nil {
		err = errors.New(string(out))
	}
	return path, err
})

// stopsProgram returns the path of testdata/stops.
func stopsProgram(t *testing.T) string {
	t.Helper()
	testneed.Platform(t, "linux/amd64", "linux/arm64")
	testneed.Ptrace(t)
	path, err := stops()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// launch starts testdata/stops, and has it run to its first stop, or to a function.
func launch(t *testing.T, function string) *Session {
	t.Helper()
	s, err := Launch(LaunchConfig{Args: []string{stopsProgram(t)}, NoStdin: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if stop, err := s.Continue(context.Background()); err != nil || stop.Reason != StopHardcoded {
		t.Fatalf("%+v, %v", stop, err)
	}
	if function != "" {
		arrive(t, s, function)
	}
	return s
}

// arrive has the program run to a function.
func arrive(t *testing.T, s *Session, function string) {
	t.Helper()
	addrs, err := s.Locate(function)
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.BreakAt(addrs...)
	if err != nil {
		t.Fatal(err)
	}
	if stop, err := s.Continue(context.Background()); err != nil || stop.Breakpoint != id {
		t.Fatalf("%+v, %v", stop, err)
	}
	if err := s.ClearBreak(id); err != nil {
		t.Fatal(err)
	}
}

// caller returns the thread that has stopped, and its caller as Delve has it.
func caller(t *testing.T, s *Session) (Thread, stepping.Temporary) {
	t.Helper()
	th, err := s.CurrentThread(nil)
	if err != nil {
		t.Fatal(err)
	}
	frames, err := s.Claims(th, 3)
	if err != nil || len(frames) < 3 {
		t.Fatalf("%d frames, %v", len(frames), err)
	}
	at := stepping.Temporary{PC: frames[1].PC.Raw(), SP: frames[0].CFA, Goroutine: th.Goroutine, OnGoroutine: true}
	for _, seg := range th.Segments {
		if seg.Kind == unwind.SegmentGoroutine {
			at.StackHigh = seg.High
		}
	}
	return th, at
}

// held returns the processes with Delve's lock held.
func held(t *testing.T, s *Session) (*proc.TargetGroup, func()) {
	t.Helper()
	group, unlock, err := s.stopped()
	if err != nil {
		t.Fatal(err)
	}
	return group, unlock
}

// selected is the process that Delve has selected.
func selected(t *testing.T, s *Session) *proc.Target {
	t.Helper()
	target, err := s.target()
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func pc(t *testing.T, s *Session) uint64 {
	t.Helper()
	th, err := s.CurrentThread(nil)
	if err != nil {
		t.Fatal(err)
	}
	pc, _ := th.Registers.PC(s.Arch())
	return pc
}

// TestArm: the program stops where the function has returned to, and says that a
// step has ended there.
func TestArm(t *testing.T) {
	s := launch(t, "main.inner")
	_, at := caller(t, s)
	if err := arm(s, at); err != nil {
		t.Fatal(err)
	}
	stop, err := s.Continue(context.Background())
	if err != nil || stop.Reason != StopStepped || pc(t, s) != at.PC {
		t.Errorf("%+v at %#x, want %#x: %v", stop, pc(t, s), at.PC, err)
	}
	if err := s.EndStep(); err != nil {
		t.Error(err)
	}
}

// TestNotPlaced: where the breakpoint cannot be placed, nothing runs, and the error
// says so.
func TestNotPlaced(t *testing.T) {
	s := launch(t, "main.inner")
	_, at := caller(t, s)
	before := pc(t, s)
	if err := arm(s, at); err != nil {
		t.Fatal(err)
	}
	g := guardHere(t, s)
	g.executable, g.read = unwind.NewRangeSet(unwind.Range{Start: 1, End: 2}), resumes.Load() // no code any more
	var outside *OutsideCodeError
	if stop, err := s.Continue(context.Background()); err == nil || !strings.Contains(err.Error(), "cannot be placed") {
		t.Errorf("%+v, %v", stop, err)
	}
	if err := s.EndStep(); !errors.As(err, &outside) {
		t.Errorf("EndStep: %v", err)
	}
	if now := pc(t, s); now != before {
		t.Errorf("the program has run from %#x to %#x", before, now)
	}
	g.executable = nil
	if stop, err := s.Continue(context.Background()); err != nil || stop.Reason != StopExited {
		t.Errorf("afterwards: %+v, %v", stop, err)
	}
}

func guardHere(t *testing.T, s *Session) *guard {
	t.Helper()
	g, err := guardOf(selected(t, s), true)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestAnotherRoute: where the program runs by a way that does not lead through the
// runner, the step is an error that names the entry: after the run for a step that
// was armed, and before the next one.
func TestAnotherRoute(t *testing.T) {
	var changed *internals.Error
	s := launch(t, "main.inner")
	_, at := caller(t, s)
	group, unlock := held(t, s)
	r, err := runnerOf(group)
	unlock()
	if err != nil {
		t.Fatal(err)
	}
	if err := arm(s, at); err != nil {
		t.Fatal(err)
	}
	held, err := internals.ProcessGroup(group)
	if err != nil {
		t.Fatal(err)
	}
	*held = r.ProcessGroup
	arrive(t, s, "main.inner")
	*held = r
	if err := s.EndStep(); !errors.As(err, &changed) || changed.Entry != internals.EntryProcessGroup {
		t.Errorf("EndStep: %v", err)
	}
	r.resumed = false
	if err := arm(s, at); !errors.As(err, &changed) || changed.Entry != internals.EntryProcessGroup {
		t.Errorf("Arm: %v", err)
	}
}

// TestHardcodedID: Delve tells a breakpoint instruction of the program's own by the
// ID that clew has for it.
func TestHardcodedID(t *testing.T) {
	s := launch(t, "")
	for _, th := range selected(t, s).ThreadList() {
		if bp := th.Breakpoint().Breakpoint; bp != nil && bp.LogicalID() == internals.HardcodedID {
			return
		}
	}
	t.Error(internals.Changed(internals.EntryHardcodedID, "no thread has a breakpoint with the ID %d", internals.HardcodedID))
}

// TestStepCondition: Delve ends a step at a breakpoint of the user's that the step's
// goroutine, or thread, comes to first.
func TestStepCondition(t *testing.T) {
	for _, onGoroutine := range []bool{true, false} {
		s := launch(t, "main.outer")
		th, at := caller(t, s)
		if at.OnGoroutine = onGoroutine; !onGoroutine {
			at.Thread = th.ID
		}
		if err := arm(s, at); err != nil {
			t.Fatal(err)
		}
		arrive(t, s, "main.inner")
		if s.Stepping() {
			t.Error(internals.Changed(internals.EntryStepCondition, "a step goes on (of a goroutine: %v)", onGoroutine))
		}
		if err := s.EndStep(); err != nil {
			t.Error(err)
		}
		_ = s.Close()
	}
}

// TestInsertFrame: Delve finds a frame that was put where it looks for the stack.
func TestInsertFrame(t *testing.T) {
	s := launch(t, "main.inner")
	th, at := caller(t, s)
	frames, err := s.Claims(th, 3)
	if err != nil {
		t.Fatal(err)
	}
	f := &frames[1]
	inserted, err := s.InsertFrame(&RecoveredFrame{
		Goroutine: th.Goroutine, Thread: th.ID, Registers: f.Registers, Lookup: at.PC - 1, CFA: f.CFA, StackHigh: at.StackHigh,
	})
	if err != nil {
		t.Fatal(err)
	}
	if inserted.Thread != int64(th.Goroutine) || inserted.Index != 0 {
		t.Errorf("%+v", inserted)
	}
	inserted.Release()
	if again, err := s.Claims(th, 3); err != nil || len(again) != len(frames) || again[0].PC != frames[0].PC {
		t.Errorf("afterwards: %+v, %v", again, err)
	}
}

// TestReplacedGroup: a group has one runner, however often it is asked for.
func TestReplacedGroup(t *testing.T) {
	s := launch(t, "")
	for range 2 {
		if err := s.Renew(); err != nil {
			t.Fatal(err)
		}
	}
	group, unlock := held(t, s)
	runs, err := internals.ProcessGroup(group)
	unlock()
	if err != nil {
		t.Fatal(err)
	}
	if r, ok := (*runs).(*runner); !ok {
		t.Errorf("%T", *runs)
	} else if _, twice := r.ProcessGroup.(*runner); twice {
		t.Error("a runner before a runner")
	}
	if _, ok := guardHere(t, s).ProcessInternal.(*guard); ok {
		t.Error("a guard before a guard")
	}
}

// arm has a session stop at a return.
func arm(s *Session, at stepping.Temporary) error {
	_, err := s.Arm(&stepping.Decision{Action: stepping.Return, Caller: at})
	return err
}
