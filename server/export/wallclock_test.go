package export_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/unwind"
)

// TestWallClock: stacks that are alike make one sample, worth the time between listings;
// those with other labels or states make their own.
func TestWallClock(t *testing.T) {
	waits, runs, labelled := mixed(), mixed(), mixed()
	waits.State = &unwind.State{Status: "waiting", WaitReason: "select"}
	runs.State = &unwind.State{Status: "running"}
	labelled.State = &unwind.State{Status: "running", Labels: map[string]string{"tenant": "a"}}
	w := export.NewWallClock(unwind.AMD64, 10*time.Millisecond)
	start := time.Unix(100, 0)
	for _, look := range []struct {
		after  time.Duration
		stacks []unwind.Stack
	}{{0, []unwind.Stack{waits, runs}}, {30 * time.Millisecond, []unwind.Stack{waits, waits, labelled}}} {
		w.Next(start.Add(look.after))
		for i := range look.stacks {
			look.stacks[i].Goroutine = uint64(i + 5) // who it is makes no difference
			w.Add(&look.stacks[i], nil)
		}
	}
	p, err := profile.ParseData(written(t, w, "pprof"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][2]int64{"select/": {3, 70e6}, "running/": {1, 10e6}, "running/a": {1, 30e6}}
	for _, s := range p.Sample {
		key := s.Label["state"][0] + "/"
		if tenant := s.Label["tenant"]; len(tenant) > 0 {
			key += tenant[0]
		}
		if got := [2]int64{s.Value[0], s.Value[1]}; got != want[key] {
			t.Errorf("%s: %d, want %d", key, got, want[key])
		}
		if len(s.Location) != 5 || len(s.Label["goroutine"]) != 0 {
			t.Errorf("%s: %d locations, labels %v", key, len(s.Location), s.Label)
		}
	}
	if len(p.Sample) != len(want) || p.Period != 10e6 || p.DurationNanos != 40e6 || p.TimeNanos != start.UnixNano() {
		t.Errorf("%d samples, %v", len(p.Sample), p)
	}
}

// written is a wall-clock profile in a format, of process 1.
func written(t *testing.T, w *export.WallClock, format string) []byte {
	t.Helper()
	f, err := export.FormatNamed(format)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := f.WallClock(w, &b, 1); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
