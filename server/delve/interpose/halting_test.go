package interpose

import (
	"context"
	"testing"
	"time"

	"github.com/go-delve/delve/pkg/proc"
)

// TestStopWaitsForHalt: a stop waits for a halt that was announced, and not for ever.
func TestStopWaitsForHalt(t *testing.T) {
	for name, comes := range map[string]func(r *running, over func()){
		"comes":    func(r *running, _ func()) { r.came(nil) },
		"answered": func(_ *running, over func()) { over() },
		"dropped":  nil,
	} {
		t.Run(name, func(t *testing.T) {
			r := new(running)
			r.enter(new(proc.TargetGroup), true)
			over := r.announceHalt(t.Context())
			left := make(chan struct{})
			go func() {
				r.leave()
				close(left)
			}()
			select {
			case <-left:
				t.Fatal("the stop does not wait")
			case <-time.After(haltBound / 10):
			}
			if comes != nil {
				comes(r, over)
			}
			<-left
			over() // nothing is left to be done
			r.enter(new(proc.TargetGroup), true)
			r.leave()
		})
	}
}

// TestHaltWaitsForRun: a halt is announced once the program runs, however soon it stops again, or is not.
func TestHaltWaitsForRun(t *testing.T) {
	r, announced := new(running), make(chan struct{})
	ended, end := context.WithCancel(t.Context())
	end()
	r.announceHalt(ended)()
	go func() {
		over := r.announceHalt(t.Context())
		r.mu.Lock()
		if r.group == nil || len(r.announced) != 1 {
			t.Error("announced while no program runs")
		}
		r.mu.Unlock()
		close(announced)
		over()
	}()
	for waiting := 0; waiting == 0; time.Sleep(time.Millisecond) {
		select {
		case <-announced:
			t.Fatal("announced before the program runs")
		default:
		}
		r.mu.Lock()
		waiting = r.waiting
		r.mu.Unlock()
	}
	r.enter(new(proc.TargetGroup), true)
	r.leave()
	<-announced
	r.enter(new(proc.TargetGroup), false) // a recording
	r.announceHalt(t.Context())
	begin := time.Now()
	if r.leave(); time.Since(begin) > haltBound/2 {
		t.Error("the stop waits for a halt that cannot be seen")
	}
}
