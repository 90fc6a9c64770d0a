package terminal

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/server/stop/stoptest"
)

// TestGoStackShown: a stack of Go code alone is Delve's, without strategies, and Delve
// is asked for at most one frame more than there are.
func TestGoStackShown(t *testing.T) {
	f := newFake(t, 6)
	for _, c := range []struct {
		arg  rpc2.StacktraceIn
		want []int
		ask  int
	}{
		{rpc2.StacktraceIn{Id: stoptest.Goroutine, Depth: 50}, []int{0, 1, 2, 3, 4, 5}, 6},
		{rpc2.StacktraceIn{Id: stoptest.Parked, Depth: 2}, []int{0, 1, 2}, 2},
		{rpc2.StacktraceIn{Depth: 50, Skip: 4}, []int{4, 5}, 6},
		{rpc2.StacktraceIn{Depth: 50, Skip: 9}, []int{}, 6},
		{rpc2.StacktraceIn{Depth: 1 << 30}, []int{0, 1, 2, 3, 4, 5}, 6},
	} {
		f.methods.asked = nil
		if got := lines(f.trace(t, c.arg)); !slices.Equal(got, c.want) || !slices.Equal(f.methods.depths(), []int{c.ask}) {
			t.Errorf("%+v: frames %d, asked for %d", c.arg, got, f.methods.depths())
		}
	}
	if f.opened != 0 {
		t.Errorf("strategies opened %d times", f.opened)
	}
}

// TestCStackShown: C frames that Delve has too are Delve's; where Delve has none, they
// have clew's names and the last one is the bottom.
func TestCStackShown(t *testing.T) {
	f := newFake(t, 5)
	f.selectC()
	if got := f.trace(t, rpc2.StacktraceIn{Depth: 50}); !slices.Equal(lines(got), []int{0, 1, 2, 3, 4}) || !got[4].Bottom || f.opened != 1 {
		t.Errorf("%+v; strategies opened %d times", got, f.opened)
	}
	f = newFake(t, 5)
	f.selectC()
	f.program.ClaimsErr = errFake
	got := f.trace(t, rpc2.StacktraceIn{Depth: 50, Skip: 1})
	if len(got) != 4 || got[0].Function.Name() != "leaf" || got[3].Function.Name() != "start" || !got[3].Bottom || got[0].File != "/src/program.go" {
		t.Fatalf("%+v", got)
	}
	if f.methods.asked != nil {
		t.Errorf("Delve was asked for frames that the stack does not refer to: %+v", f.methods.asked)
	}
}

// TestWrongDelveStack: a frame that Delve alone has is not shown, and the frames
// behind it are those of Delve's that they are, by their index.
func TestWrongDelveStack(t *testing.T) {
	f := newFake(t, 6)
	f.program.Extra = 0x502fff
	if got := f.trace(t, rpc2.StacktraceIn{Id: stoptest.Goroutine, Depth: 50}); !slices.Equal(lines(got), []int{0, 2, 3, 4, 5, 6}) {
		t.Errorf("%d", lines(got))
	}
	for frame, want := range map[int]int{0: 0, 1: 2, 5: 6} {
		f.methods.evaluated = nil
		arg := rpc2.EvalIn{Scope: api.EvalScope{GoroutineID: stoptest.Goroutine, Frame: frame}, Expr: "x"}
		if err := (scopes{f.server}).eval(arg, new(rpc2.EvalOut)); err != nil || len(f.methods.evaluated) != 1 || f.methods.evaluated[0].Frame != want {
			t.Errorf("frame %d: %+v, %v; want Delve's %d", frame, f.methods.evaluated, err, want)
		}
	}
	arg := rpc2.EvalIn{Scope: api.EvalScope{GoroutineID: stoptest.Goroutine, Frame: 6}, Expr: "x"}
	if err := (scopes{f.server}).eval(arg, new(rpc2.EvalOut)); err == nil || !strings.Contains(err.Error(), "Frame 6 does not exist") {
		t.Errorf("a frame that was not shown: %v", err)
	}
}

// TestInlinedShown: inlined calls are rows of Delve's, and count in its indexes.
func TestInlinedShown(t *testing.T) {
	f := newFake(t, 3)
	f.program.Inlined = 1
	if got := lines(f.trace(t, rpc2.StacktraceIn{Id: stoptest.Goroutine, Depth: 50})); !slices.Equal(got, []int{0, 1, 2, 3, 4, 5}) {
		t.Errorf("%d", got)
	}
}

// TestFrameOfClew: a request about a frame that Delve does not have is answered by
// clew, and deferred calls of it do not exist.
func TestFrameOfClew(t *testing.T) {
	f := newFake(t, 5)
	f.selectC()
	f.program.ClaimsErr = errFake
	in := scopes{f.server}
	var got *clewFrame
	byDelve := func() error { t.Error("Delve was asked"); return nil }
	err := in.inFrame(&api.EvalScope{GoroutineID: -1, Frame: 3}, byDelve, func(c *clewFrame) error { got = c; return nil })
	if err != nil || got == nil || got.index != 3 || got.name() != "leaf" {
		t.Fatalf("%+v, %v", got, err)
	}
	regs, err := got.registers()
	sp, _ := regs.SP(got.stack.Arch)
	pc, _ := regs.PC(got.stack.Arch)
	if err != nil || sp != got.stack.Frames[2].CFA || pc != got.frame().PC.Raw() {
		t.Errorf("%+v, %v", regs, err)
	}
	if loc := got.location(); loc.PC != got.lookup() || loc.Function.Name() != "leaf" || loc.Line != 7 {
		t.Errorf("%+v", loc)
	}
	if err := in.inFrame(&api.EvalScope{GoroutineID: -1, Frame: 3, DeferredCall: 1}, byDelve, nil); err == nil || !strings.Contains(err.Error(), "deferred calls") {
		t.Error(err)
	}
	if err := in.watch(rpc2.CreateWatchpointIn{Scope: api.EvalScope{GoroutineID: -1, Frame: 3}}, nil); !errors.Is(err, stop.ErrNoCode) { // native code is clew's
		t.Error(err)
	}
}

// TestFallback: where clew has no stack, and for the modes that are about Delve's walk,
// the client gets Delve's answer.
func TestFallback(t *testing.T) {
	for name, spoil := range map[string]func(f *fakeSession, arg *rpc2.StacktraceIn){
		"no view":           func(f *fakeSession, _ *rpc2.StacktraceIn) { f.program.OnView = func() error { return errFake } },
		"no goroutine":      func(_ *fakeSession, arg *rpc2.StacktraceIn) { arg.Id = 77 },
		"Delve fails":       func(f *fakeSession, _ *rpc2.StacktraceIn) { f.program.Extra, f.methods.failures = 0x502fff, 2 },
		"the program runs":  func(f *fakeSession, _ *rpc2.StacktraceIn) { f.methods.running = true },
		"no session":        func(f *fakeSession, _ *rpc2.StacktraceIn) { f.session = nil },
		"simple":            func(_ *fakeSession, arg *rpc2.StacktraceIn) { arg.Opts = api.StacktraceSimple },
		"the g stack alone": func(_ *fakeSession, arg *rpc2.StacktraceIn) { arg.Opts = api.StacktraceG },
		"negative":          func(_ *fakeSession, arg *rpc2.StacktraceIn) { arg.Depth = -1 },
	} {
		f, arg := newFake(t, 6), rpc2.StacktraceIn{Id: stoptest.Goroutine, Depth: 50}
		spoil(f, &arg)
		got := f.trace(t, arg)
		last := len(f.methods.asked) - 1
		if last < 0 || f.methods.asked[last] != arg {
			t.Fatalf("%s: Delve was asked for %+v", name, f.methods.asked)
		}
		var want rpc2.StacktraceOut
		if err := f.methods.Stacktrace(arg, &want); err != nil || !slices.Equal(lines(got), lines(want.Locations)) {
			t.Errorf("%s: %d, Delve has %d, %v", name, lines(got), lines(want.Locations), err)
		}
	}
}

// TestImprove: a thread in C code is where `clew stack` says, and a breakpoint's stack is the
// assembled one; the location of a goroutine in Go code stays Delve's.
func TestImprove(t *testing.T) {
	f := newFake(t, 5)
	f.program.Extra = 0x502fff
	inC := &api.Thread{ID: stoptest.CThread, PC: 0x401010, Function: &api.Function{Name_: "C.leaf"}, File: "other.c", Line: 3}
	hit := &api.Thread{
		ID: stoptest.GoThread, GoroutineID: stoptest.Goroutine, Function: &api.Function{Name_: "main.climb"},
		Breakpoint: &api.Breakpoint{Stacktrace: 10}, BreakpointInfo: &api.BreakpointInfo{Stacktrace: delves(1, 2)},
	}
	g := &api.Goroutine{ID: stoptest.Goroutine, ThreadID: stoptest.GoThread, UserCurrentLoc: api.Location{PC: f.program.Extra}}
	f.improve(&api.DebuggerState{Threads: []*api.Thread{inC, hit}, SelectedGoroutine: g})
	if inC.Function.Name() != "leaf" || inC.File != "/src/program.go" || inC.Line != 7 {
		t.Errorf("%+v", inC)
	}
	if got := lines(hit.BreakpointInfo.Stacktrace); !slices.Equal(got, []int{0, 2, 3, 4, 5}) || hit.Function.Name() != "main.climb" {
		t.Errorf("%d, %+v", got, hit.Function)
	}
	if g.UserCurrentLoc.PC != f.program.Extra {
		t.Errorf("a goroutine in Go code was moved: %+v", g.UserCurrentLoc)
	}
}
