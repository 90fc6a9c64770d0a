package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// fake is a client that keeps what it was told. It checks that a stop comes only after a
// resume that it knows of.
type fake struct {
	*Client
	t     *testing.T
	mu    sync.Mutex
	heard []string
}

func join(t *testing.T, s *Session, kind string) *fake {
	f := &fake{t: t}
	f.Client = s.Join(kind, f.hear)
	return f
}

func (f *fake) hear(e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	text := map[Kind]string{Continued: "continued", StoppedAt: "stopped", Exited: "exited", Restarted: "restarted", Terminated: "terminated", Invalidated: "invalidated", BreakpointChanged: "breakpoint"}[e.Kind]
	f.heard = append(f.heard, strings.TrimSpace(text+" "+e.By))
}

// expect compares what the client has heard, and forgets it.
func (f *fake) expect(want ...string) {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if fmt.Sprint(f.heard) != fmt.Sprint(want) {
		f.t.Errorf("%s was told %q, not %q", f.name, f.heard, want)
	}
	f.heard = nil
}

// program is a run that stops when its door is used, but not the first times: Delve forgets
// a halt that comes too early.
type program struct {
	run   *Run
	deaf  int32
	calls atomic.Int32
}

func (p *program) door(context.Context) {
	if p.calls.Add(1) > p.deaf {
		p.run.Stopped(Stop{Reason: "pause", Thread: 1})
	}
}

// resume begins a run.
func (f *fake) resume(deaf int32) *program {
	f.t.Helper()
	p := &program{deaf: deaf}
	run, err := f.Resume(context.Background(), "continue", false, func(ctx context.Context) { p.door(ctx) })
	if err != nil {
		f.t.Fatal(err)
	}
	p.run = run
	run.Began()
	return p
}

// TestRun: others are told of a resume and of its stop; a second resume, and what reads the
// program, is refused by the name of who has resumed it.
func TestRun(t *testing.T) {
	ctx := context.Background()
	s := New(Options{})
	a, b := join(t, s, "editor"), join(t, s, "dlv client")
	p := a.resume(0)
	b.expect("continued editor 1")
	var busy *BusyError
	if _, err := b.Resume(ctx, "next", true, nil); !errors.As(err, &busy) || busy.By != "editor 1" || !strings.Contains(err.Error(), "editor 1 has resumed it (continue)") {
		t.Errorf("a second resume: %v", err)
	}
	if _, err := b.Use(ctx, "stacktrace"); !errors.As(err, &busy) {
		t.Errorf("a request meanwhile: %v", err)
	}
	p.run.Stopped(Stop{Reason: "step"})
	p.run.Stopped(Stop{Reason: "again"})
	b.expect("stopped editor 1")
	a.expect()
	b.resume(0).run.Exited(3)
	a.expect("continued dlv client 1", "exited dlv client 1")
}

// TestStopWithoutResume: a client that believes the program stopped is told that it ran first.
func TestStopWithoutResume(t *testing.T) {
	s := New(Options{})
	a, b := join(t, s, "editor"), join(t, s, "editor")
	a.Tell(Event{Kind: StoppedAt, Stop: &Stop{}})
	b.expect("continued editor 1", "stopped editor 1")
	run, err := a.Resume(context.Background(), "next", true, nil)
	if err != nil {
		t.Fatal(err)
	}
	run.Refused() // no client was told of it
	b.expect()
}

// TestAnyHaltHalts: a halt by any client stops the run of any other, although the debugger loses
// the first ones.
func TestAnyHaltHalts(t *testing.T) {
	s := New(Options{})
	a, b := join(t, s, "editor"), join(t, s, "dlv client")
	p := a.resume(2)
	if err := b.Halt(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !p.run.Ended() || !p.run.Wanted() || p.calls.Load() < 3 {
		t.Errorf("the door was used %d times", p.calls.Load())
	}
	b.expect("continued editor 1", "stopped editor 1")
	if err := b.Halt(context.Background()); err != nil {
		t.Errorf("a halt at a stop: %v", err)
	}
	p = b.resume(1)
	defer p.run.Ask()() // its own first halt is lost
	<-p.run.Over()
}

// TestReadsWaitForHalts: who reads at a stop waits for the answer to the halt that has caused it, and not
// for ever.
func TestReadsWaitForHalts(t *testing.T) {
	s := New(Options{})
	a, b := join(t, s, "editor"), join(t, s, "dlv client")
	for _, answers := range []bool{true, false} {
		p := a.resume(0)
		answered := p.run.Ask()
		p.run.Stopped(Stop{Reason: "pause"})
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		if _, err := b.Use(ctx, "stacktrace"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a read before the halt's answer: %v", err)
		}
		cancel()
		if answers {
			answered()
		}
		done, err := b.Use(context.Background(), "stacktrace")
		if err != nil {
			t.Fatal(err)
		}
		done()
	}
}

// TestAnnounce: a halt that is announced waits for the program to run no longer than the run lasts.
func TestAnnounce(t *testing.T) {
	announced := make(chan struct{})
	s := New(Options{Announce: func(ctx context.Context) func() {
		close(announced)
		<-ctx.Done()
		return func() {}
	}})
	s.Announce(t.Context())() // nothing runs
	p, begin, over := join(t, s, "editor").resume(0), time.Now(), make(chan struct{})
	go func() {
		s.Announce(t.Context())()
		close(over)
	}()
	<-announced
	p.run.Stopped(Stop{Reason: "step"})
	if <-over; time.Since(begin) > announcePatience/2 {
		t.Error("it waits on after the stop")
	}
}

// TestHaltGivesUp: a program that does not stop is an error.
func TestHaltGivesUp(t *testing.T) {
	s := New(Options{})
	a := join(t, s, "editor")
	p := a.resume(1 << 30)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := a.Halt(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	p.run.Exited(0)
}

// TestHaltsShare: several halts use the door once at a time, one after the other, and insist where that has no effect.
func TestHaltsShare(t *testing.T) {
	var insisted atomic.Int32
	var p *program
	s := New(Options{Insist: func() {
		if insisted.Add(1) == 3 {
			p.run.Stopped(Stop{Reason: "pause"})
		}
	}})
	a, b := join(t, s, "editor"), join(t, s, "dlv client")
	p = a.resume(1 << 30)
	gone, leave := context.WithTimeout(context.Background(), haltAgain)
	defer leave()
	_ = b.Halt(gone) // another one goes on
	var halts sync.WaitGroup
	for range 100 {
		halts.Go(func() {
			if err := b.Halt(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	halts.Wait()
	if n := p.calls.Load(); n > 3*(insistAfter+3) || insisted.Load() < 3 {
		t.Errorf("the door was used %d times, and %d halts have insisted", n, insisted.Load())
	}
}

// TestLeases: a resume waits for requests that read the program, also for its own client's,
// and names who does not come to an end.
func TestLeases(t *testing.T) {
	s := New(Options{})
	a, b := join(t, s, "editor"), join(t, s, "editor")
	done, err := a.Use(context.Background(), "stackTrace")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	var reader *ReadError
	if _, err := b.Resume(ctx, "continue", false, nil); !errors.As(err, &reader) || reader.By != "editor 1" || reader.Request != "stackTrace" {
		t.Errorf("a resume beside a request: %v", err)
	}
	resumed := make(chan *program)
	go func() { resumed <- b.resume(0) }()
	time.Sleep(5 * time.Millisecond)
	select {
	case <-resumed:
		t.Fatal("the program was resumed while a request reads it")
	default:
	}
	done()
	(<-resumed).run.Exited(0)
}

// TestAsides: a run that was halted for work aside goes on when that is done, or a client wants
// it halted.
// TestReadersDoNotStarve: while a command waits for a request that reads, no other client begins to
// read, but the client that reads may go on.
func TestReadersDoNotStarve(t *testing.T) {
	s := New(Options{})
	reads, runs, late := join(t, s, "editor"), join(t, s, "editor"), join(t, s, "editor")
	done, err := reads.Use(t.Context(), "stackTrace")
	if err != nil {
		t.Fatal(err)
	}
	resumed := make(chan error, 1)
	go func() {
		_, err := runs.Resume(t.Context(), "next", true, func(context.Context) {})
		resumed <- err
	}()
	for waits := false; !waits; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		waits = s.entering > 0
		s.mu.Unlock()
	}
	nested, err := reads.Use(t.Context(), "scopes")
	if err != nil {
		t.Fatal(err)
	}
	refused := make(chan error, 1)
	go func() {
		_, err := late.Use(t.Context(), "threads")
		refused <- err
	}()
	select {
	case err := <-refused:
		t.Errorf("another client reads: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	nested()
	done()
	if err := <-resumed; err != nil {
		t.Error(err)
	}
	if busy := new(BusyError); !errors.As(<-refused, &busy) {
		t.Error("a request reads the program that runs")
	}
}

func TestAsides(t *testing.T) {
	s := New(Options{Nudge: func() {}})
	a, b := join(t, s, "editor"), join(t, s, "dlv client")
	p := a.resume(0)
	p.run.Asides(context.Background()) // there is no work
	begun, free, done, on := make(chan struct{}), make(chan struct{}), make(chan error, 1), make(chan struct{})
	go func() {
		done <- b.Aside(context.Background(), "set", func() {
			close(begun)
			<-free
		})
	}()
	<-begun
	go func() {
		p.run.Asides(context.Background())
		close(on)
	}()
	select {
	case <-on:
		t.Error("the program runs on while the work is done")
	case <-time.After(20 * time.Millisecond):
	}
	close(free)
	<-on
	if err := <-done; err != nil {
		t.Error(err)
	}
	p.run.Exited(0)
}

// TestAside: work aside is done during a run, which others do not see.
func TestAside(t *testing.T) {
	var nudged atomic.Int32
	free := make(chan struct{})
	s := New(Options{Nudge: func() {
		if nudged.Add(1) == 2 { // the first is lost
			close(free)
		}
	}})
	a, b := join(t, s, "editor"), join(t, s, "dlv client")
	p := a.resume(0)
	if err := b.Aside(context.Background(), "set", func() { <-free }); err != nil || p.run.Ended() || p.run.Wanted() {
		t.Errorf("%v, ended %v", err, p.run.Ended())
	}
	b.expect("continued editor 1")
	p.run.Exited(0)
	if err := New(Options{}).Join("editor", func(Event) {}).Aside(context.Background(), "set", func() {}); err != nil {
		t.Errorf("at a stop: %v", err)
	}
}

// TestAsideEnds: who waits for work aside does not when its client is gone.
func TestAsideEnds(t *testing.T) {
	s := New(Options{Nudge: func() {}})
	a, b := join(t, s, "editor"), join(t, s, "dlv client")
	p := a.resume(0)
	ctx, leave := context.WithCancel(context.Background())
	free := make(chan struct{})
	if err := b.Aside(ctx, "set", func() { leave(); <-free }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(free)
	p.run.Exited(0)
}

// TestAsideKeepsWhole: work aside halts no run that would end by that. It waits for the end, and is refused if that does not come soon.
func TestAsideKeepsWhole(t *testing.T) {
	ctx := context.Background()
	s := New(Options{Nudge: func() { t.Error("the run was halted") }})
	a, b := join(t, s, "editor"), join(t, s, "dlv client")
	p := a.resume(0)
	p.run.KeepWhole()
	if err := b.Aside(ctx, "set", func() { t.Error("done meanwhile") }); !errors.As(err, new(*BusyError)) {
		t.Errorf("during the run: %v", err)
	}
	time.AfterFunc(wholePatience/10, func() { p.run.Exited(0) })
	if err := a.Aside(ctx, "set", func() {}); err != nil || !p.run.Ended() {
		t.Errorf("at its end: %v, ended %v", err, p.run.Ended())
	}
}

// TestAwaitHalt: a client waits for the end of its own run where that is to halt, and for none else.
func TestAwaitHalt(t *testing.T) {
	ctx := context.Background()
	s := New(Options{})
	a, b := join(t, s, "editor"), join(t, s, "dlv client")
	p := a.resume(0)
	begin := time.Now()
	a.AwaitHalt(ctx) // nobody wants a halt
	if time.Since(begin) > endPatience/2 || p.run.Ended() {
		t.Errorf("it has waited for %v", time.Since(begin))
	}
	answered := p.run.Ask()
	defer answered()
	begin = time.Now()
	b.AwaitHalt(ctx)
	if time.Since(begin) > endPatience/2 {
		t.Error("it has waited for another client's run")
	}
	time.AfterFunc(20*time.Millisecond, func() { p.run.Stopped(Stop{Reason: "pause"}) })
	if a.AwaitHalt(ctx); !p.run.Ended() {
		t.Error("it has not waited")
	}
}

// TestRestart: it halts, holds everyone off, and is told.
func TestRestart(t *testing.T) {
	ctx := context.Background()
	s := New(Options{})
	a, b := join(t, s, "editor"), join(t, s, "dlv client")
	p := a.resume(0)
	done, err := b.Restart(ctx)
	if err != nil || !p.run.Ended() {
		t.Fatal(err)
	}
	var busy *BusyError
	if _, err := a.Use(ctx, "threads"); !errors.As(err, &busy) || busy.State != Restarting || busy.By != "dlv client 1" {
		t.Errorf("a request meanwhile: %v", err)
	}
	if _, err := a.Restart(ctx); !errors.As(err, &busy) {
		t.Errorf("a restart in a restart: %v", err)
	}
	done(true)
	done(false)
	a.expect("continued dlv client 1", "restarted dlv client 1")
	if done, err = b.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	done(false)
	a.expect()
}

// TestEnd: whatever runs is halted, the others are told, and nothing begins any more.
func TestEnd(t *testing.T) {
	ctx := context.Background()
	s := New(Options{})
	a, b := join(t, s, "editor"), join(t, s, "dlv client")
	p := a.resume(0)
	if err := s.End(ctx, b.Client, "detach"); err != nil || !p.run.Ended() {
		t.Error(err)
	}
	a.expect("terminated dlv client 1")
	var busy *BusyError
	if _, err := a.Resume(ctx, "continue", false, nil); !errors.As(err, &busy) || busy.State != Ending {
		t.Errorf("a resume after the end: %v", err)
	}
	if err := s.End(ctx, nil, "again"); !errors.As(err, &busy) {
		t.Errorf("a second end: %v", err)
	}
}

// TestTwoEnds: the second end returns once the program has stopped, as the first does, and tells the clients nothing more.
func TestTwoEnds(t *testing.T) {
	ctx := context.Background()
	s := New(Options{})
	a, b := join(t, s, "editor"), join(t, s, "dlv client")
	asked, stop := make(chan struct{}, 100), make(chan struct{})
	var run *Run
	run, err := a.Resume(ctx, "continue", false, func(context.Context) {
		asked <- struct{}{}
		<-stop
		run.Stopped(Stop{Reason: "pause"})
	})
	if err != nil {
		t.Fatal(err)
	}
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- s.End(ctx, b.Client, "detach") }()
	<-asked
	go func() { second <- s.End(ctx, nil, "the server's end") }()
	select {
	case err := <-second:
		t.Fatalf("the second end returns while the program runs: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	close(stop)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if busy := new(BusyError); !errors.As(<-second, &busy) || busy.By != b.name || !run.Ended() {
		t.Errorf("the second end: %v", busy)
	}
	a.expect("terminated dlv client 1")
	b.expect("continued editor 1", "stopped editor 1")
}

// TestRaces: many clients resume, halt, read and leave at once. None hangs, one runs at a
// time, and each is told of stops after resumes.
func TestRaces(t *testing.T) {
	s := New(Options{Nudge: func() {}})
	var inside atomic.Int32
	var wait sync.WaitGroup
	var clients []*fake // all have joined before any resumes: who joins a running program is told of its stop alone
	for range 4 {
		clients = append(clients, join(t, s, "client"))
	}
	for _, c := range clients {
		wait.Go(func() {
			defer c.Leave()
			for n := range 30 {
				ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
				p := &program{deaf: 1}
				ready := make(chan struct{})
				run, err := c.Resume(ctx, "continue", false, func(ctx context.Context) { <-ready; inside.Store(0); p.door(ctx) })
				if err == nil {
					p.run = run
					if !inside.CompareAndSwap(0, 1) {
						t.Error("two run at once")
					}
					close(ready)
					run.Began()
				}
				if done, err := c.Use(ctx, "read"); err == nil {
					done()
				}
				if n%3 == 0 {
					if err := c.Aside(ctx, "set", func() {}); err != nil {
						t.Error(err)
					}
				}
				if err := c.Halt(ctx); err != nil {
					t.Error(err)
				}
				cancel()
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			believes := false
			for _, text := range c.heard {
				stops := strings.HasPrefix(text, "stopped")
				if stops && !believes && !strings.Contains(text, c.name) {
					t.Errorf("%s was told of a stop without a resume", c.name)
				}
				believes = !stops
			}
		})
	}
	wait.Wait()
}

// TestBreakpoints: Delve has the union of the clients' lists, with what both stop at.
func TestBreakpoints(t *testing.T) {
	s := New(Options{})
	a, b := join(t, s, "editor"), join(t, s, "editor")
	set := func(c *fake, own ...Wanted) string {
		t.Helper()
		union, refused := s.Breakpoints.Union(c.Client, "file", own)
		text := ""
		for i, w := range union {
			text += fmt.Sprintf("%s[%s|%s|%s]", w.Key, w.Condition, w.HitCondition, w.LogMessage)
			if refused[i] != nil {
				text += "!"
			}
		}
		return text
	}
	for _, c := range []struct {
		by   *fake
		own  []Wanted
		want string
	}{
		{a, []Wanted{{Key: "1"}, {Key: "2", Condition: "x"}, {Key: "3", LogMessage: "m"}, {Key: "4", HitCondition: "3"}}, "1[||]2[x||]3[||m]4[|3|]"},
		{b, []Wanted{{Key: "2", Condition: "y"}}, "2[(y) || (x)||]1[||]3[||m]4[|3|]"},
		{b, []Wanted{{Key: "2"}, {Key: "1", Condition: "y"}, {Key: "3"}}, "2[||]1[||]3[||]4[|3|]"},
		{b, []Wanted{{Key: "3", LogMessage: "n"}, {Key: "4", HitCondition: "5"}}, "3[||n | m]4[|3|]!1[||]2[x||]"},
		{b, nil, "1[||]2[x||]3[||m]4[|3|]"},
		{a, nil, ""},
	} {
		if got := set(c.by, c.own...); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
	set(a, Wanted{Key: "1"})
	if !s.Breakpoints.Others(b.Client, "file")["1"] || s.Breakpoints.Others(a.Client, "file")["1"] {
		t.Error("whose breakpoint it is")
	}
	a.Leave()
	if got := set(b); got != "" {
		t.Errorf("after the client has left: %s", got)
	}
}
