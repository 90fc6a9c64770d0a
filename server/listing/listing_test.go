package listing

import (
	"slices"
	"testing"
	"time"

	"github.com/clewdbg/clew/unwind"
)

// stack makes a parked goroutine's stack of functions, innermost first.
func stack(id uint64, reason string, functions ...string) *unwind.Stack {
	s := &unwind.Stack{Goroutine: id, Stop: unwind.End, State: &unwind.State{Status: "waiting", WaitReason: reason}}
	for i, f := range functions {
		s.Frames = append(s.Frames, unwind.Frame{
			PC: unwind.Code(uint64(0x1000+16*i+len(f)), unwind.KindReturn), Function: f, File: "/src/" + f + ".go", Line: 7, Strategy: unwind.StrategyGopclntab,
		})
	}
	return s
}

func TestGroups(t *testing.T) {
	now := time.Unix(1000, 0)
	a := stack(5, "chan receive", "runtime.gopark", "main.worker")
	b := stack(7, "chan receive", "runtime.gopark", "main.worker")
	a.State.WaitsOn, b.State.WaitsOn, b.State.WaitSince = 0xc0, 0xc0, now
	idle := stack(2, "GC worker (idle)", "runtime.gopark", "runtime.gcBgMarkWorker")
	idle2 := stack(3, "GC worker (idle)", "runtime.gopark", "runtime.gcBgMarkWorker")
	idle3 := stack(4, "GC worker (idle)", "runtime.gopark", "runtime.gcBgMarkWorker")
	other := stack(9, "select", "runtime.gopark", "main.worker")
	c := stack(11, "", "c_function")
	c.State.Status, c.Thread = "syscall", 99
	c.Frames[0].Strategy, c.Frames[0].File, c.Frames[0].Image = "dwarfcfi", "/src/c.c", "/app"
	thread := &unwind.Stack{Thread: 42, ThreadName: "pulse"}
	gs := NewGroups(Stack)
	gs.Ours.Image = "/app"
	for _, s := range []*unwind.Stack{idle, idle2, idle3, a, other, b, c, thread} {
		gs.Add(s)
	}
	ids := func(order string) (out []uint64) {
		for _, g := range gs.Sorted(order) {
			out = append(out, g.first()&^(1<<63))
		}
		return out
	}
	for order, want := range map[string][]uint64{
		"":          {2, 5, 9, 11, 42},
		"suspicion": {11, 5, 9, 2, 42}, // C, the program's own code, the runtime's
		"count":     {2, 5, 9, 11, 42},
		"id":        {2, 5, 9, 11, 42},
		"wait":      {5, 2, 9, 11, 42},
	} {
		if got := ids(order); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", order, got, want)
		}
	}
	g := gs.Sorted("suspicion")[1]
	if !slices.Equal(g.Goroutines, []uint64{5, 7}) || g.Count() != 2 || g.WaitsOn[0xc0] != 2 || !g.Since.Equal(now) {
		t.Errorf("%+v", g)
	}
}

func TestGroupsBy(t *testing.T) {
	a := stack(1, "chan receive", "runtime.gopark", "sync.(*Mutex).Lock", "main.worker")
	b := stack(2, "select", "runtime.selectgo", "main.worker")
	a.State.CreatedBy = &unwind.Creation{Function: "main.main", File: "main.go", Line: 3}
	b.State.CreatedBy = &unwind.Creation{Function: "main.main", File: "main.go", Line: 4}
	b.State.Labels = map[string]string{"b": "2", "a": "1"}
	for by, want := range map[By][]string{
		Function:  {"in main.worker"},
		CreatedBy: {"created by main.main at main.go:3", "created by main.main at main.go:4"},
		Label:     {"without labels", "a=1, b=2"},
		None:      {"", ""},
	} {
		gs := NewGroups(by)
		gs.Add(a)
		gs.Add(b)
		var got []string
		for _, g := range gs.Sorted("") {
			got = append(got, g.Title)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", by, got, want)
		}
	}
}

func TestFilters(t *testing.T) {
	s := stack(1, "chan receive", "runtime.gopark", "main.worker", "main.start", "runtime.goexit")
	s.State.Labels = map[string]string{"worker": "3"}
	s.State.WaitSince = time.Now().Add(-time.Hour)
	s.State.CreatedBy = &unwind.Creation{Function: "main.main", File: "/src/main.go", Line: 12}
	for text, want := range map[string]bool{
		"user": true, "waiting": true, "running": false, "native": false,
		"curloc gopark": true, "curloc worker": false, "userloc main.worker": true, "startloc main.start": true, "startloc worker": false,
		"in-c": false, "frame main.start": true, "frame start.go:7": true, "frame nowhere": false, "function main.worker": true, "function worker.go": false, "file start.go": true, "image app": false,
		"waits > 1m": true, "waits > 10h": false,
		"goloc main.go:12": true, "label worker": true, "label worker=3": true, "label worker=4": false, "label other": false,
	} {
		f, err := ParseFilter(text)
		if err != nil || f(s) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"", "nonsense", "nonsense x", "label", "running now", "frame", "waits", "waits 1m", "waits > soon"} {
		if _, err := ParseFilter(text); err == nil {
			t.Errorf("%q is a filter", text)
		}
	}
}

func TestRecursion(t *testing.T) {
	frames := func(functions ...string) (out []unwind.Frame) {
		for _, f := range functions {
			out = append(out, unwind.Frame{Function: f})
		}
		return out
	}
	walk := slices.Repeat([]string{"walk"}, 21)
	pair := slices.Repeat([]string{"even", "odd"}, 8)
	for _, c := range []struct {
		frames      []unwind.Frame
		end         int
		round, more int
	}{
		{frames(append(walk, "main")...), 1, 1, 20},
		{frames(append(pair, "even")...), 2, 2, 14}, // whole rounds
		{frames("a", "b", "c"), 1, 0, 0},
		{frames(slices.Repeat([]string{"walk"}, 8)...), 1, 0, 0}, // too few
		{nil, 0, 0, 0},
	} {
		if round, more := Recursion(c.frames, c.end); round != c.round || more != c.more {
			t.Errorf("%d frames: %d, %d", len(c.frames), round, more)
		}
	}
}

func TestSummary(t *testing.T) {
	var sum Summary
	long := stack(1, "chan receive", "main.worker")
	long.State.WaitSince, long.State.WaitsOn = time.Unix(1, 0), 0xc0
	short := stack(2, "chan receive", "main.worker")
	short.State.WaitSince, short.State.WaitsOn = time.Unix(2, 0), 0xc0
	runs := stack(3, "", "main.spin")
	runs.State.Status, runs.Thread = "running", 77
	cut := &unwind.Stack{Thread: 5, Stop: unwind.Truncated}
	for _, s := range []*unwind.Stack{short, long, runs, cut} {
		sum.Add(s)
	}
	if sum.Goroutines != 3 || sum.Threads != 2 || sum.Truncated != 1 || sum.Longest.Goroutine != 1 || len(sum.Running) != 1 || sum.Running[0].Goroutine != 3 {
		t.Errorf("%+v", sum)
	}
	if got := sum.States(); len(got) != 2 || got[0] != (Line[string]{"chan receive", 2}) {
		t.Errorf("%v", got)
	}
	if got := sum.Channels(); len(got) != 1 || got[0] != (Line[uint64]{0xc0, 2}) {
		t.Errorf("%v", got)
	}
}
