package stop_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/server/stepping"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/server/stop/stoptest"
	"github.com/clewdbg/clew/unwind"
)

// stopped is a program at a stop, and strategies for its C code.
func stopped(t *testing.T, p *stoptest.Program) (*stop.Stopped, *engine.Prepared) {
	t.Helper()
	at, err := stop.At(context.Background(), p, p, false)
	if err != nil {
		t.Fatal(err)
	}
	prepared, err := at.Prepare(context.Background(), engine.New(stoptest.Strategies(unwind.TrustCFI)))
	if err != nil {
		t.Fatal(err)
	}
	return at, prepared
}

func goroutine(t *testing.T, at *stop.Stopped, id uint64) reading.Thread {
	t.Helper()
	th, err := at.Goroutine(id)
	if err != nil {
		t.Fatal(err)
	}
	return th
}

func cThread(t *testing.T, at *stop.Stopped) reading.Thread {
	t.Helper()
	th, err := at.Thread(stoptest.CThread)
	if err != nil {
		t.Fatal(err)
	}
	return th
}

// TestGo: a stack of Go's is found without asking the debugger, as deep as is
// asked; one with C code is not.
func TestGo(t *testing.T) {
	const frames = 100
	p := stoptest.New(frames)
	at, _ := stopped(t, p)
	th := goroutine(t, at, stoptest.Goroutine)
	page, err := at.Go(context.Background(), th, 50)
	if err != nil || page == nil || len(page.Frames) < 50 || !page.DepthLimited || !page.Holds(50) || page.Holds(frames) {
		t.Fatalf("%+v, %v", page, err)
	}
	if again, _ := at.Go(context.Background(), th, 20); again != page {
		t.Error("it was found twice")
	}
	whole, err := at.Go(context.Background(), th, frames)
	if err != nil || len(whole.Frames) != frames || whole.Stop != unwind.End || whole.Frames[frames-1].Function != "runtime.goexit" {
		t.Fatalf("%+v, %v", whole, err)
	}
	for i := range whole.Frames {
		if whole.Frames[i].DelveFrame != i {
			t.Fatalf("frame %d anticipates the debugger's %d", i, whole.Frames[i].DelveFrame)
		}
	}
	if inC, err := at.Go(context.Background(), cThread(t, at), 1); inC != nil || err != nil {
		t.Errorf("C code: %+v, %v", inC, err)
	}
	if len(p.Asked()) != 0 {
		t.Errorf("the debugger was asked for %v frames", p.Asked())
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if st, err := at.Go(ctx, goroutine(t, at, stoptest.Parked), 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %+v, %v", st, err)
	}
	if st, err := at.Go(context.Background(), goroutine(t, at, stoptest.Parked), 1); st == nil || err != nil {
		t.Errorf("after the cancelled one: %+v, %v", st, err)
	}
}

// TestWhole: a stack of C code is the strategies', with indices into the
// debugger's, and inlined calls from there.
func TestWhole(t *testing.T) {
	const frames = 40
	p := stoptest.New(frames)
	p.Inlined = 1
	at, prepared := stopped(t, p)
	th := cThread(t, at)
	st, err := at.Whole(context.Background(), prepared, th, frames)
	if err != nil || len(st.Frames) != 2*frames || st.Stop != unwind.End || st.Unclaimed != "" {
		t.Fatalf("%d frames, %v, %v", len(st.Frames), st.Reason, err)
	}
	for i, f := range st.Frames {
		if f.DelveFrame != i || f.Inlined != (i%2 == 0) {
			t.Fatalf("frame %d: %+v", i, f)
		}
	}
	if again, _ := at.Whole(context.Background(), prepared, th, 1); again != st {
		t.Error("it was found twice")
	}
	if !at.Found(stop.KeyOf(&th), prepared, 1) || at.Found(stop.Key{Goroutine: stoptest.Goroutine}, prepared, 1) {
		t.Error("what was found is not known")
	}
	if found := at.Stacks(prepared); len(found) != 1 || found[0] != st {
		t.Errorf("%d stacks found", len(found))
	}
	if th.Claims != nil || st.Thread.Claims != nil {
		t.Error("claims are kept")
	}
}

// TestClaimsFail: the stack is there all the same, and says so.
func TestClaimsFail(t *testing.T) {
	p := stoptest.New(5)
	p.ClaimsErr = errors.New("too much")
	at, prepared := stopped(t, p)
	st, err := at.Whole(context.Background(), prepared, cThread(t, at), 5)
	if err != nil || len(st.Frames) != 5 || st.Unclaimed != "Delve's own frames are not known: too much" || !slices.Contains(st.Notes, st.Unclaimed) {
		t.Errorf("%+v, %v", st, err)
	}
}

// TestClaimsGrow: the debugger is asked for more frames once it has shown that it
// has them, and for no more than it has.
func TestClaimsGrow(t *testing.T) {
	for _, c := range []struct {
		frames, inlined, depth int
		asked                  []int
		claims                 int
	}{
		{100, 0, 40, []int{60}, 60},
		{100, 2, 40, []int{60, 120}, 120},
		{100, 0, 0, []int{3 << 9}, 100},
		{70_000, 0, 70_000, []int{1 << 16, 1 << 17}, 70_000},
	} {
		p := stoptest.New(c.frames)
		p.Inlined = c.inlined
		at, _ := stopped(t, p)
		th := cThread(t, at)
		if note := stop.Claim(at.View, &th, c.depth); note != "" || !slices.Equal(p.Asked(), c.asked) || len(th.Claims) != c.claims {
			t.Errorf("%+v: asked for %v, %d claims, %q", c, p.Asked(), len(th.Claims), note)
		}
	}
}

// TestEndlessClaims: of a debugger's stack without an end no more is asked than the
// stack needs, and of a deep one all.
func TestEndlessClaims(t *testing.T) {
	for _, c := range []struct {
		frames, endless int
		asked           []int
	}{
		{10, 1 << 30, []int{3 << 9}},
		{5000, 0, []int{3 << 9, 7692}},
		{5000, 1 << 30, []int{3 << 9, 7692}},
	} {
		p := stoptest.New(c.frames)
		p.Endless = c.endless
		at, prepared := stopped(t, p)
		stacks := at.All(context.Background(), prepared, []reading.Thread{cThread(t, at)}, stop.AllOptions{})
		if s := &stacks[0]; len(s.Frames) != c.frames || s.Frames[c.frames-1].DelveFrame != c.frames-1 || !slices.Equal(p.Asked(), c.asked) {
			t.Errorf("%+v: %d frames, asked for %v", c, len(s.Frames), p.Asked())
		}
	}
}

// TestRepeatedClaims: a frame that the debugger repeats without an end is no reason
// to ask for ever more.
func TestRepeatedClaims(t *testing.T) {
	p := stoptest.New(10)
	p.Endless, p.EndlessInlined = 1<<30, true
	at, _ := stopped(t, p)
	th := cThread(t, at)
	if note := stop.Claim(at.View, &th, 0); note != "" || !slices.Equal(p.Asked(), []int{3 << 9, 3 << 10}) {
		t.Errorf("asked for %v, %q", p.Asked(), note)
	}
}

// TestAll: of many goroutines the debugger is asked only for those on threads.
func TestAll(t *testing.T) {
	const frames = 10
	p := stoptest.New(frames)
	at, prepared := stopped(t, p)
	all, err := at.Goroutines()
	if err != nil {
		t.Fatal(err)
	}
	done := 0
	stacks := at.All(context.Background(), prepared, slices.Clone(all), stop.AllOptions{Done: func() { done++ }})
	if len(stacks) != len(all) || done != len(all) || len(p.Asked()) != 1 {
		t.Errorf("%d stacks, %d done, asked %v", len(stacks), done, p.Asked())
	}
	for i, s := range stacks {
		if len(s.Frames) != frames || s.Stop != unwind.End {
			t.Errorf("stack %d: %+v", i, s)
		}
	}
	sunk := 0
	at.All(context.Background(), prepared, []reading.Thread{cThread(t, at)}, stop.AllOptions{Sink: func(f []unwind.Frame) { sunk += len(f) }})
	if sunk != frames {
		t.Errorf("%d frames in the sink", sunk)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if s := at.All(ctx, prepared, all, stop.AllOptions{}); len(s) != 0 {
		t.Errorf("%d stacks after the end", len(s))
	}
}

// TestSelected: what the debugger has selected, be it a goroutine that does not
// exist, which Delve may select where Go came with a library.
func TestSelected(t *testing.T) {
	for _, c := range []struct {
		goroutine, thread uint64
		library           bool
		want              stop.Key
		wrong             bool
	}{
		{goroutine: 1, thread: stoptest.GoThread, want: stop.Key{Goroutine: 1}},
		{goroutine: 2, thread: stoptest.GoThread, want: stop.Key{Goroutine: 2}},
		{thread: stoptest.CThread, want: stop.Key{Thread: stoptest.CThread}},
		{goroutine: 77, thread: stoptest.CThread, wrong: true},
		{goroutine: 77, thread: stoptest.CThread, library: true, want: stop.Key{Thread: stoptest.CThread}},
		{thread: 4, wrong: true},
	} {
		p := stoptest.New(3)
		p.Selection, p.Library = reading.Selection{Goroutine: c.goroutine, Thread: c.thread}, c.library
		at, _ := stopped(t, p)
		th, err := at.Selected()
		if (err != nil) != c.wrong || err == nil && stop.KeyOf(&th) != c.want {
			t.Errorf("%+v: %+v, %v", c, stop.KeyOf(&th), err)
		}
	}
}

// TestRegisters: all registers of a frame, at the stop of the stack and after a
// write.
func TestRegisters(t *testing.T) {
	p := stoptest.New(20)
	at, prepared := stopped(t, p)
	st, err := at.Whole(context.Background(), prepared, cThread(t, at), 20)
	if err != nil {
		t.Fatal(err)
	}
	later, preparedLater := stopped(t, p)
	for _, c := range []struct {
		at       *stop.Stopped
		prepared *engine.Prepared
	}{{at, prepared}, {later, preparedLater}} {
		th, regs, err := c.at.Registers(context.Background(), c.prepared, st, 7)
		sp, ok := regs.SP(unwind.AMD64)
		if err != nil || th.ID != stoptest.CThread || !ok || sp != st.Frames[6].CFA {
			t.Errorf("%d, %#x, %v", th.ID, sp, err)
		}
	}
	st.Frames[7].CFA++
	if _, _, err := at.Registers(context.Background(), prepared, st, 7); !errors.Is(err, stop.ErrFrameGone) {
		t.Error(err)
	}
}

// TestNames: an address has a function's name, else its image's.
func TestNames(t *testing.T) {
	at, _ := stopped(t, stoptest.New(3))
	for pc, want := range map[uint64]string{0x401010: "leaf", 0x409010: "program+0x9010", 0x10: ""} {
		f := at.Frame(unwind.Code(pc, unwind.KindInstruction))
		if got := names.StyleFull.Frame(&f); got != want || at.IsGo(&f) {
			t.Errorf("%#x: %q, want %q; Go's: %v", pc, got, want, at.IsGo(&f))
		}
	}
	if f := at.Frame(unwind.Code(0x501010, unwind.KindInstruction)); f.Function != "main.climb" || !at.IsGo(&f) || f.DelveFrame != -1 {
		t.Errorf("%+v", f)
	}
}

// TestPlan: a step in Go code that the debugger has alike is its own, without a
// strategy; C code takes strategies.
func TestPlan(t *testing.T) {
	p := stoptest.New(10)
	at, prepared := stopped(t, p)
	asked := 0
	prepare := func(context.Context) (*engine.Prepared, error) { asked++; return prepared, nil }
	d, err := at.Plan(context.Background(), goroutine(t, at, stoptest.Goroutine), stop.Step{Command: stepping.Next}, prepare)
	if err != nil || d.Action != stepping.Delegate || asked != 0 {
		t.Errorf("Go: %+v, %v; strategies asked %d times", d, err, asked)
	}
	if _, err = at.Plan(context.Background(), cThread(t, at), stop.Step{Command: stepping.StepOut}, prepare); err != nil || asked != 1 {
		t.Errorf("C: %v; strategies asked %d times", err, asked)
	}
	failure := errors.New("failure")
	if _, err = at.Plan(context.Background(), cThread(t, at), stop.Step{Command: stepping.StepOut}, func(context.Context) (*engine.Prepared, error) { return nil, failure }); !errors.Is(err, failure) {
		t.Error(err)
	}
	p.Extra = 0x501020 // the debugger takes another frame for the caller
	d, err = at.Plan(context.Background(), goroutine(t, at, stoptest.Goroutine), stop.Step{Command: stepping.StepOut}, prepare)
	if err != nil || d.Action == stepping.Delegate {
		t.Errorf("another caller: %+v, %v", d, err)
	}
}
