//go:build linux && amd64

package places

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/delve/held"
	"github.com/clewdbg/clew/server/delve/interpose"
	"github.com/clewdbg/clew/server/lifeline"
	"github.com/clewdbg/clew/server/stepping"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/unwind"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == lifeline.Command {
		lifeline.Main()
		return
	}
	testkit.Main(m)
}

var builds = map[string]func() (*built, error){}

func init() {
	for _, v := range variants {
		builds[v.Name] = sync.OnceValues(func() (*built, error) { return (&bench{folder: testkit.Path("")}).program(v) })
	}
}

// need asks for the needs of every test here, and returns the built variant.
func need(t *testing.T, name string) *built {
	t.Helper()
	testneed.CC(t)
	testneed.Tool(t, "strip")
	testneed.Ptrace(t)
	p, err := builds[name]()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// tried are the builds that the tests step in: one where Delve is mostly right,
// one where it is right about half of a step, and one where no debugger can be. The
// command tries every build.
var tried = []string{"static-O1-g-fp", "linked-g-called-by-notables", "linked-O2-omit-notables-stripped"}

// TestSteps steps from every scene.
func TestSteps(t *testing.T) {
	for _, name := range tried {
		t.Run(name, func(t *testing.T) {
			p := need(t, name)
			b := &bench{}
			for _, command := range commands {
				for i := range scenes {
					res, err := scenes[i].try(startClew, p, command, t.TempDir())
					if err != nil {
						t.Fatal(err)
					}
					b.judge(p.variant, &scenes[i], command, res)
				}
			}
			if err := b.findings(); err != nil {
				t.Error(err)
			}
		})
	}
}

// holding is a program that clew holds at a spot.
type holding struct {
	*clew
	t   *testing.T
	run *run
	at  state
}

// hold stops a program at a spot of its C code, with no breakpoint left.
func hold(t *testing.T, build, scenario, spot string) *holding {
	t.Helper()
	h := start(t, build, scenario)
	h.arrive(h.spot(spot))
	return h
}

// start runs a program to main.ready.
func start(t *testing.T, build, scenario string) *holding {
	t.Helper()
	p := need(t, build)
	dir := t.TempDir()
	h := &holding{t: t, run: &run{program: p, scenario: scenario, stdout: filepath.Join(dir, "stdout"), record: filepath.Join(dir, "record")}}
	d, err := startClew(h.run)
	if err != nil {
		t.Fatal(err)
	}
	h.clew = d.(*clew)
	t.Cleanup(func() {
		if err := h.close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// arrive runs to an address, and leaves no breakpoint.
func (h *holding) arrive(at uint64) {
	h.t.Helper()
	var err error
	if h.at, err = arrive(h.clew, at); err != nil {
		h.t.Fatal(err)
	}
	if err := h.breakAt(); err != nil {
		h.t.Fatal(err)
	}
}

// address returns where an address of the C code lies in this process.
func (h *holding) address(function string, at uint64) uint64 {
	h.t.Helper()
	bias, err := h.run.program.biasOf(function, h.pid())
	if err != nil {
		h.t.Fatal(err)
	}
	return at + bias
}

func (h *holding) spot(name string) uint64 {
	h.t.Helper()
	at, ok := h.run.program.spots[name]
	if !ok {
		h.t.Fatalf("no spot %q", name)
	}
	return h.address("", at)
}

// within says whether a stop lies in a function.
func (h *holding) within(s state, function string) bool {
	h.t.Helper()
	fn := h.run.program.functions[function]
	at := h.address(function, fn.Value)
	return fn.Size > 0 && s.pc >= at && s.pc < at+fn.Size
}

// step steps and returns the stop.
func (h *holding) step(c stepping.Command) state {
	h.t.Helper()
	stop, d, err := h.stepAs(c)
	s, err := h.state(stop, err)
	if err != nil {
		h.t.Fatalf("%s (%s, %s): %v", c, d.Action, d.Reason, err)
	}
	h.last = d
	return s
}

// breakpoints counts the breakpoints that are in the program: Delve has some of its
// own in every one.
func (h *holding) breakpoints() int {
	h.t.Helper()
	planted, err := h.session.Planted()
	if err != nil {
		h.t.Fatal(err)
	}
	return len(planted)
}

// clean says that the step has left no breakpoint.
func (h *holding) clean(want int) {
	h.t.Helper()
	if n := h.breakpoints(); n != want {
		h.t.Errorf("%d breakpoints are in the program, want %d", n, want)
	}
}

// finish lets the program end, and compares with a run without a debugger.
func (h *holding) finish() {
	h.t.Helper()
	s, err := h.resume()
	if err != nil || !s.exited {
		h.t.Fatalf("the program stopped again: %+v, %v", s, err)
	}
	h.same(s)
}

func (h *holding) same(s state) {
	h.t.Helper()
	got, err := os.ReadFile(h.run.stdout)
	if err != nil {
		h.t.Fatal(err)
	}
	want, err := h.run.alone()
	if err != nil {
		h.t.Fatal(err)
	}
	if s.status != want.status || string(got) != string(want.output) {
		h.t.Errorf("exit status %d, output %q; without a debugger %d, %q", s.status, got, want.status, want.output)
	}
}

// TestBreakpointBetween steps out of a function whose callee has a breakpoint of
// the user's: the step ends there, and nothing of it is left.
func TestBreakpointBetween(t *testing.T) {
	h := hold(t, "static-O2-fp", "plain", "middle")
	before := h.breakpoints()
	if err := h.breakAt(h.spot("leaf")); err != nil {
		t.Fatal(err)
	}
	s := h.step(stepping.StepOut)
	if s.pc != h.spot("leaf") || h.last.Action != stepping.Return {
		t.Fatalf("%s: stopped at %#x (%s), want the breakpoint at %#x", h.last.Action, s.pc, s.why, h.spot("leaf"))
	}
	h.clean(before + 1)
	if err := h.breakAt(); err != nil {
		t.Fatal(err)
	}
	h.finish()
}

// TestBreakpointOfAnotherThread is the same with a breakpoint that other threads
// hit: Delve would keep the step.
func TestBreakpointOfAnotherThread(t *testing.T) {
	h := hold(t, "static-O2-fp", "crowd", "door")
	before := h.breakpoints()
	noise := h.run.program.functions["noise"].Value
	if err := h.breakAt(noise); err != nil {
		t.Fatal(err)
	}
	s := h.step(stepping.StepOut)
	if s.pc != noise || s.thread == h.at.thread {
		t.Fatalf("stopped at %#x in thread %d (%s), want another thread at %#x", s.pc, s.thread, s.why, noise)
	}
	h.clean(before + 1)
	if err := h.breakAt(); err != nil {
		t.Fatal(err)
	}
	h.finish()
}

// TestLongjmp steps out of a function that never returns: the step ends where longjmp lands, and its breakpoints are gone.
func TestLongjmp(t *testing.T) {
	h := hold(t, "linked-O2-omit-stripped", "jump", "thrower")
	before := h.breakpoints()
	if s := h.step(stepping.StepOut); !h.within(s, "outer_jump") {
		t.Fatalf("stopped at %#x (%s)", s.pc, s.why)
	}
	h.clean(before)
	h.finish()
}

// TestExitBetween steps out of each function: the last, runtime.main, never returns. The program's end ends the step.
func TestExitBetween(t *testing.T) {
	h := hold(t, "linked-O2-omit-stripped", "jump", "thrower")
	s := h.step(stepping.StepOut)
	for range 20 {
		if s.exited {
			break
		}
		s = h.step(stepping.StepOut)
	}
	if !s.exited {
		t.Fatalf("stopped at %#x (%s)", s.pc, s.why)
	}
	h.same(s)
}

// TestPauseBetween interrupts a step out of a function that does not return.
func TestPauseBetween(t *testing.T) {
	h := hold(t, "static-O2-fp", "waiting", "waiting")
	before := h.breakpoints()
	ctx, cancel := context.WithCancel(h.ctx)
	time.AfterFunc(100*time.Millisecond, cancel)
	v, err := h.process.Read(false)
	if err != nil {
		t.Fatal(err)
	}
	th, err := v.Current()
	if err != nil {
		t.Fatal(err)
	}
	d := stop.PlanStep(h.ctx, v, h.engine.Prepare(h.ctx, &v.Input), th, stepping.StepOut)
	stop, err := perform(ctx, h.session, &d)
	if err != nil || stop.Reason != held.StopManual || d.Action != stepping.Return {
		t.Fatalf("%s (%s): %+v, %v", d.Action, d.Reason, stop, err)
	}
	h.clean(before)
	if err := os.WriteFile(h.run.record+".go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h.finish()
}

// TestOutOfSignal steps out of a signal handler, to the trampoline, and out of
// that, to the interrupted code.
func TestOutOfSignal(t *testing.T) {
	h := hold(t, "linked-O2-omit-stripped", "signal", "on_signal")
	for _, from := range []string{"on_signal", "interrupted"} {
		want, err := h.run.recorded(from)
		if err != nil {
			t.Fatal(err)
		}
		if s := h.step(stepping.StepOut); !want.reached(&s, false) {
			t.Fatalf("%s (%s): stopped at %#x, sp %#x, want %+v", h.last.Action, h.last.Reason, s.pc, s.sp, want)
		}
	}
	h.finish()
}

// TestStepIn steps into a callee that has lines; without lines it goes to the
// caller.
func TestStepIn(t *testing.T) {
	for _, tt := range []struct{ build, to string }{{"static-O0-g-fp", "leaf"}, {"static-O2-omit", "outer"}} {
		t.Run(tt.build, func(t *testing.T) {
			h := hold(t, tt.build, "plain", "middle")
			s := h.step(stepping.StepIn)
			for range 5 { // to the line of the call, and in
				if h.within(s, tt.to) || !h.within(s, "middle") {
					break
				}
				s = h.step(stepping.StepIn)
			}
			if !h.within(s, tt.to) {
				t.Errorf("%s (%s): stopped at %#x, not in %s", h.last.Action, h.last.Reason, s.pc, tt.to)
			}
			h.finish()
		})
	}
}

// TestGuard asks for breakpoints in data: by address, as a temporary one, and by
// Delve's own step out of runtime.asmcgocall, which takes a word of the heap for
// the return address. None is written.
func TestGuard(t *testing.T) {
	h := start(t, "static-O1-g-fp", "plain")
	entered, _, err := enterFunction(h.clew, h.run.program, h.run.program.functions[switchFunction].Value, switchFunction)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := arriveIn(h.clew, entered.thread, h.run.program.atCall...); err != nil {
		t.Fatal(err)
	}
	if err := h.breakAt(); err != nil {
		t.Fatal(err)
	}
	before := h.breakpoints()
	v, err := h.process.Read(false)
	if err != nil {
		t.Fatal(err)
	}
	th, err := v.Current()
	if err != nil {
		t.Fatal(err)
	}
	stack, _ := th.Registers.SP(unwind.AMD64)
	stack &^= 7
	word, err := h.word(stack)
	if err != nil {
		t.Fatal(err)
	}
	var outside *interpose.OutsideCodeError
	if _, err := h.session.BreakAt(stack); !errors.As(err, &outside) {
		t.Errorf("a breakpoint on the stack: %v", err)
	}
	if _, err := h.session.Arm(&stepping.Decision{Action: stepping.Return, Caller: stepping.Temporary{PC: stack, SP: stack, Thread: 1}}); !errors.As(err, &outside) {
		t.Errorf("a temporary breakpoint on the stack: %v", err)
	}
	if stop, err := h.session.Step(h.ctx, stepping.StepOut); !errors.As(err, &outside) {
		t.Errorf("Delve's own stepout: %+v, %v", stop, err)
	}
	h.clean(before)
	if now, err := h.word(stack); err != nil || now != word {
		t.Errorf("the stack holds %#x, want %#x: %v", now, word, err)
	}
	h.finish()
}

// TestExec has the program become another one before the function returns. The
// breakpoint is not written back into the new program, and the program stops.
func TestExec(t *testing.T) {
	h := start(t, "static-O1-g-fp", "exec")
	_, want, err := enterFunction(h.clew, h.run.program, h.run.program.functions["main.again"].Value, "main.again")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.breakAt(); err != nil {
		t.Fatal(err)
	}
	if _, err := h.session.Arm(&stepping.Decision{Action: stepping.Return, Caller: stepping.Temporary{PC: want.pc, SP: want.sp, Goroutine: 1, OnGoroutine: true, StackHigh: want.high}}); err != nil {
		t.Fatal(err)
	}
	stop, err := h.session.Continue(h.ctx)
	if err != nil || stop.Reason != held.StopHardcoded {
		t.Errorf("%+v, %v", stop, err)
	}
	if err := h.session.EndStep(); err == nil {
		t.Error("no note says that the program was replaced")
	}
	h.finish()
}

// TestGo steps through Go's own library and runtime: there Delve is right, and
// does every step alone, with its knowledge of deferred functions and closures.
func TestGo(t *testing.T) {
	h := start(t, "static-O1-g-fp", "plain")
	h.arrive(h.run.program.functions["fmt.Fprintln"].Value)
	for i := range 120 {
		c := stepping.StepIn
		if i%40 > 30 {
			c = stepping.StepOut
		}
		s := h.step(c)
		if s.exited {
			h.same(s)
			return
		}
		if h.last.Action != stepping.Delegate {
			t.Errorf("step %d, %s: %s (%s); now at %#x", i, c, h.last.Action, h.last.Reason, s.pc)
		}
	}
	h.finish()
}

// TestChoose: builds are found by name, those of arm64 alone only there, and a name that no build has is refused.
func TestChoose(t *testing.T) {
	for builds, want := range map[string]int{"static-O2-fp": 1, "linked-O2-omit,static-O2-g-omit": 2, "static-O2-fp,nothing": 0, "pac-static-O2-fp": 0} {
		if chosen, err := choose(builds, false); len(chosen) != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d builds, %v", builds, len(chosen), err)
		}
	}
	if chosen, err := choose("pac-static-O2-fp", true); len(chosen) != 1 || err != nil {
		t.Errorf("%d builds, %v", len(chosen), err)
	}
	if chosen, err := choose("", true); len(chosen) != len(variants) || err != nil {
		t.Errorf("%d of %d builds, %v", len(chosen), len(variants), err)
	}
}
