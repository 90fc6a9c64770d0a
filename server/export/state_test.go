package export

import (
	"testing"
	"time"

	"github.com/clewdbg/clew/unwind"
)

func TestHeading(t *testing.T) {
	now := time.Unix(10_000, 0)
	s := unwind.Stack{Goroutine: 7, Thread: 9, ThreadName: "wor\x1bker", State: &unwind.State{
		Status: "waiting", WaitReason: "chan receive", WaitSince: now.Add(-12 * time.Minute), WaitsOn: 0xc000, LockedThread: 9,
		Labels: map[string]string{"b": "2", "a": "1"}, CreatedBy: &unwind.Creation{Function: "main.main", File: "/src/app/main.go", Line: 12, Goroutine: 1},
	}}
	want := `goroutine 7, thread 9 "wor\x1bker" [chan receive, at least 12 min on 0xc000; locked to thread 9; a=1, b=2]`
	if got := heading(&s, now); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := CreatedBy(s.State); got != "created by main.main in goroutine 1 at app/main.go:12" {
		t.Errorf("%q", got)
	}
	if got := heading(&unwind.Stack{Goroutine: 7}, now); got != "goroutine 7" {
		t.Errorf("%q", got)
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 119 * time.Second: "119 s", 2 * time.Minute: "2 min", 12*time.Minute + 59*time.Second: "12 min", 5 * time.Hour: "5 h", 72 * time.Hour: "3 days",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%v: %q", d, got)
		}
	}
}
