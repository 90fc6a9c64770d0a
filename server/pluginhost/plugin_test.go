package pluginhost

import (
	"context"
	"errors"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/wire"
)

func killPlugin(t *testing.T, p *Plugin) {
	t.Helper()
	if err := syscall.Kill(pid(t, p), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func TestWalk(t *testing.T) {
	h, p, _ := newHost(t, nil)
	if got := h.Health()[0]; got.State != StateIdle || got.PID != 0 || got.Version != "" {
		t.Errorf("before the first need: %+v", got)
	}
	for _, n := range []int{1, 50, 2000} {
		checkWalk(t, p, n)
	}
	d, err := p.Describe(context.Background())
	if err != nil || d.Name != "fake" || !d.Anywhere {
		t.Errorf("described as %+v, %v", d, err)
	}
	got := h.Health()[0]
	if got.State != StateRunning || got.PID == 0 || got.Version != "1.0" || !got.Builtin || got.Path == "" || got.Restarts != 0 || got.LastError != "" {
		t.Errorf("health %+v", got)
	}
}

// images are two, with a section and ranges to yield.
func tellImages(t *testing.T, p *Plugin) {
	t.Helper()
	ctx := context.Background()
	added := []unwind.Image{{ID: 1, Executable: []unwind.Range{{Start: 1, End: 9}}}, {ID: 2}, {ID: 3, Sections: []unwind.Section{{Name: ".eh_frame", Data: make([]byte, 2<<20)}}}}
	reports, err := p.Update(ctx, unwind.ImageDelta{Arch: unwind.AMD64, OS: "linux", Added: added})
	if err != nil || len(reports) != 3 || reports[0].Coverage.Size() != 8 {
		t.Fatalf("reports %+v, %v", reports, err)
	}
	if _, err := p.Update(ctx, unwind.ImageDelta{Arch: unwind.AMD64, OS: "linux", Removed: []unwind.ImageID{2}}); err != nil {
		t.Fatal(err)
	}
	if err := p.Yield(ctx, unwind.RangeSet{{Start: 1, End: 2}, {Start: 5, End: 6}}); err != nil {
		t.Fatal(err)
	}
}

func checkTold(t *testing.T, p *Plugin) {
	t.Helper()
	results, err := p.Walk(context.Background(), order(pcReport))
	if err != nil {
		t.Fatal(err)
	}
	if got := results[0].Reason; !strings.HasPrefix(got, "images=[1 3] yield=2 ") {
		t.Errorf("the plugin was told: %s", got)
	}
}

// TestKilledBetweenWalks: the next walk comes, and the new process knows what
// the old one knew.
func TestKilledBetweenWalks(t *testing.T) {
	h, p, sent := newHost(t, nil)
	tellImages(t, p)
	checkTold(t, p)
	for i := range 2 { // a third kill would switch it off
		before := pid(t, p)
		killPlugin(t, p)
		checkWalk(t, p, 20)
		checkTold(t, p)
		if got := h.Health()[0]; got.PID == before || got.Restarts != i+1 || !strings.Contains(got.LastError, "signal: killed") {
			t.Errorf("health %+v", got)
		}
	}
	if got := sent.take(); len(got) > 0 {
		t.Errorf("the user was told %q", got)
	}
}

// TestKilledBeforeWalk kills after the start and before anything was asked.
func TestKilledBeforeWalk(t *testing.T) {
	_, p, _ := newHost(t, nil)
	if _, err := p.Describe(context.Background()); err != nil {
		t.Fatal(err)
	}
	killPlugin(t, p)
	tellImages(t, p)
	checkTold(t, p)
}

func TestKilledDuringWalk(t *testing.T) {
	_, p, _ := newHost(t, nil)
	checkWalk(t, p, 1)
	time.AfterFunc(30*time.Millisecond, func() { killPlugin(t, p) })
	results, err := p.Walk(context.Background(), order(pcSlow))
	if err != nil {
		t.Fatal(err)
	}
	checkSteps(t, results, 3)
	if got := p.health().Restarts; got != 1 {
		t.Errorf("%d restarts", got)
	}
}

func TestCrashOnce(t *testing.T) {
	_, p, _ := newHost(t, nil)
	results, err := p.Walk(context.Background(), order(pcPanicOnce))
	if err != nil {
		t.Fatal(err)
	}
	checkSteps(t, results, 3)
	if got := p.health(); got.Restarts != 1 || !strings.Contains(got.LastError, "exit status 2") {
		t.Errorf("health %+v", got)
	}
}

func TestThreeCrashesSwitchOff(t *testing.T) {
	h, p, sent := newHost(t, nil)
	var crash *CrashError
	_, err := p.Walk(context.Background(), order(pcPanic)) // crashes, is repeated, crashes
	if !errors.As(err, &crash) {
		t.Fatalf("got %v, want a crash", err)
	}
	if got := sent.take(); len(got) > 0 {
		t.Errorf("the user was told too early: %q", got)
	}
	var off *DisabledError
	_, err = p.Walk(context.Background(), order(pcPanic))
	for begin := time.Now(); !errors.As(err, &off) && errors.As(err, &crash) && time.Since(begin) < time.Minute; time.Sleep(time.Millisecond) {
		_, err = p.Walk(context.Background(), []unwind.WalkRequest{chain(1)}) // who watches the process may be a moment behind
	}
	if !errors.As(err, &off) || !errors.As(err, &crash) {
		t.Fatalf("got %v, want that it is off, because of a crash", err)
	}
	for range 3 {
		if _, err := p.Walk(context.Background(), []unwind.WalkRequest{chain(1)}); !errors.As(err, &off) {
			t.Errorf("got %v", err)
		}
	}
	if _, err := p.Describe(context.Background()); !errors.As(err, &off) {
		t.Errorf("describe: %v", err)
	}
	if _, err := p.Update(context.Background(), unwind.ImageDelta{Arch: unwind.AMD64}); !errors.As(err, &off) {
		t.Errorf("update: %v", err)
	}
	if err := p.Yield(context.Background(), nil); !errors.As(err, &off) {
		t.Errorf("yield: %v", err)
	}
	got := sent.take()
	for begin := time.Now(); len(got) == 0 && time.Since(begin) < time.Minute; got = sent.take() {
		time.Sleep(time.Millisecond) // who watches the process may have seen its end first, and tells in its own time
	}
	if len(got) != 1 || !strings.Contains(got[0], "fake is switched off for this session: it failed 3 times within a minute") {
		t.Errorf("the user was told %q", got)
	}
	if got := h.Health()[0]; got.State != StateDisabled || got.PID != 0 {
		t.Errorf("health %+v", got)
	}
}

// TestFailuresFade: failures that are a minute apart do not add up.
func TestFailuresFade(t *testing.T) {
	_, p, sent := newHost(t, nil)
	for range 5 {
		checkWalk(t, p, 1)
		p.mu.Lock()
		for i := range p.failures {
			p.failures[i] = p.failures[i].Add(-failureWindow)
		}
		p.mu.Unlock()
		killPlugin(t, p)
	}
	checkWalk(t, p, 1)
	if got := sent.take(); len(got) > 0 {
		t.Errorf("the user was told %q", got)
	}
}

func TestStall(t *testing.T) {
	_, p, sent := newHost(t, func(o *Options) { o.WalkTimeout = 300 * time.Millisecond })
	for i := range maxFailures {
		if _, err := p.Describe(context.Background()); err != nil {
			t.Fatal(err)
		}
		before := pidOrStart(t, p)
		begin := time.Now()
		_, err := p.Walk(context.Background(), order(pcStall))
		var late *TimeoutError
		if !errors.As(err, &late) || late.Method != "Walk" {
			t.Fatalf("stall %d: got %v", i, err)
		}
		if took := time.Since(begin); took > testneed.Patience(5*time.Second) {
			t.Errorf("stall %d was noticed after %v", i, took)
		}
		waitGone(t, before, 5*time.Second)
	}
	var off *DisabledError
	if _, err := p.Walk(context.Background(), []unwind.WalkRequest{chain(1)}); !errors.As(err, &off) {
		t.Errorf("got %v", err)
	}
	if got := sent.take(); len(got) != 1 {
		t.Errorf("the user was told %q", got)
	}
}

func pidOrStart(t *testing.T, p *Plugin) int {
	t.Helper()
	p.gate.RLock()
	defer p.gate.RUnlock()
	in, err := p.running(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return in.process.pid()
}

// TestCallerGivesUp: a caller's own deadline is no failure of the plugin.
func TestCallerGivesUp(t *testing.T) {
	_, p, _ := newHost(t, nil)
	checkWalk(t, p, 1)
	before := pid(t, p)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := p.Walk(ctx, order(pcSlow)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	checkWalk(t, p, 1)
	if got := p.health(); got.PID != before || got.Restarts != 0 || got.LastError != "" {
		t.Errorf("health %+v", got)
	}
}

func TestLies(t *testing.T) {
	for _, pc := range []uint64{pcLie, pcBoast} {
		_, p, sent := newHost(t, nil)
		for i := range maxFailures {
			var lie *wire.ContractError
			if _, err := p.Walk(context.Background(), order(pc)); !errors.As(err, &lie) {
				t.Fatalf("lie %d: got %v", i, err)
			}
			if i < maxFailures-1 {
				checkWalk(t, p, 3)
			}
		}
		if got := sent.take(); len(got) != 1 {
			t.Errorf("the user was told %q", got)
		}
	}
}

// TestStrategyErrors are no failures of the process; nor are the caller's own.
func TestStrategyErrors(t *testing.T) {
	_, p, sent := newHost(t, nil)
	tellImages(t, p)
	for range 2 * maxFailures {
		var refusal *wire.StrategyError
		if _, err := p.Walk(context.Background(), order(pcRefuse)); !errors.As(err, &refusal) {
			t.Fatalf("got %v", err)
		}
		var wrong *wire.RequestError
		if _, err := p.Walk(context.Background(), []unwind.WalkRequest{{}}); !errors.As(err, &wrong) {
			t.Fatalf("got %v", err)
		}
	}
	if got := p.health(); got.Restarts != 0 || got.State != StateRunning {
		t.Errorf("health %+v", got)
	}
	// An update that was refused half-way leaves the plugin as it was before.
	delta := unwind.ImageDelta{Arch: unwind.AMD64, Added: []unwind.Image{{ID: 7}, {ID: 8, Path: "refuse"}}}
	var refusal *wire.StrategyError
	if _, err := p.Update(context.Background(), delta); !errors.As(err, &refusal) {
		t.Fatalf("got %v", err)
	}
	checkTold(t, p)
	// So does one that it crashes of.
	delta.Added[1].Path = "panic"
	var crash *CrashError
	if _, err := p.Update(context.Background(), delta); !errors.As(err, &crash) {
		t.Fatalf("got %v", err)
	}
	checkTold(t, p)
	if got := sent.take(); len(got) > 0 {
		t.Errorf("the user was told %q", got)
	}
}

func TestConcurrentWalks(t *testing.T) {
	_, p, sent := newHost(t, nil)
	tellImages(t, p)
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 60 {
				requests := []unwind.WalkRequest{chain(1 + i), chain(2 + g)}
				results, err := p.Walk(context.Background(), requests)
				if err != nil {
					t.Errorf("walk: %v", err)
					return
				}
				checkSteps(t, results[:1], 1+i)
				checkSteps(t, results[1:], 2+g)
			}
		})
	}
	all.Go(func() {
		for i := range 10 {
			img := unwind.Image{ID: unwind.ImageID(100 + i)}
			if _, err := p.Update(context.Background(), unwind.ImageDelta{Arch: unwind.AMD64, Added: []unwind.Image{img}}); err != nil {
				t.Errorf("update: %v", err)
			}
			if i == 5 {
				// The walks that it takes with it are repeated.
				_ = syscall.Kill(p.health().PID, syscall.SIGKILL)
			}
			time.Sleep(time.Millisecond)
		}
	})
	all.Wait()
	if got := sent.take(); len(got) > 0 {
		t.Errorf("the user was told %q", got)
	}
}
