package interpose

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/go-delve/delve/pkg/proc"
)

// running guards the group that runs against halts that come as it stops: Delve's halt reads which target is
// selected, without a lock, and Delve selects one at each stop. A halt is announced before. It waits for the program to run,
// and the program's stop waits for it.
type running struct {
	mu        sync.Mutex
	changed   chan struct{}     // closed when something changes that others wait for; nil while none waits
	group     *proc.TargetGroup // nil while none runs
	guarded   bool              // its guards see halts
	waiting   int               // halts that wait for the program to run
	announced []*halt           // that have not come yet
}

// halt is one that was announced.
type halt struct{ _ byte } // else all would be one pointer

var inside running

// haltBound bounds the wait of a stop for a halt that was announced: Delve may have dropped it.
const haltBound = 200 * time.Millisecond

// enter is called before the group is resumed.
func (r *running) enter(group *proc.TargetGroup, guarded bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.group, r.guarded = group, guarded
	r.wake()
}

// leave is called when the group has stopped, before Delve sees it.
func (r *running) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting > 0 || len(r.announced) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), haltBound)
		defer cancel()
		r.wait(ctx, func() bool { return r.waiting == 0 && len(r.announced) == 0 })
	}
	r.announced, r.group = nil, nil
}

// runs says that the group runs.
func (r *running) runs() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.group != nil
}

// Runs says that a program runs now. It does not wait.
func Runs() bool { return inside.runs() }

// wake has those look again who wait. The lock is held.
func (r *running) wake() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// wait waits until ready or the context's end, with the lock held before and after.
func (r *running) wait(ctx context.Context, ready func() bool) {
	for !ready() && ctx.Err() == nil {
		if r.changed == nil {
			r.changed = make(chan struct{})
		}
		changed := r.changed
		r.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		r.mu.Lock()
	}
}

// came says that an announced halt has come, or that it does not; nil: that the first has.
func (r *running) came(h *halt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h == nil && len(r.announced) > 0 {
		h = r.announced[0]
	}
	r.announced = slices.DeleteFunc(r.announced, func(other *halt) bool { return other == h })
	r.wake()
}

// AnnounceHalt is called before a session of Delve's is asked for something for which it halts the program. It waits until the program
// runs, or ctx ends. Over is called when the session has answered.
func AnnounceHalt(ctx context.Context) (over func()) { return inside.announceHalt(ctx) }

func (r *running) announceHalt(ctx context.Context) (over func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting++
	r.wait(ctx, func() bool { return r.group != nil })
	r.waiting--
	r.wake()
	return r.announce(len(r.announced))
}

// announce announces a halt of the group that runs, with its place among the others. The lock is held.
func (r *running) announce(at int) (over func()) {
	if r.group == nil || !r.guarded {
		return func() {}
	}
	h := &halt{}
	r.announced = slices.Insert(r.announced, at, h)
	return func() { r.came(h) }
}

// Nudge halts the program if it runs. That is no halt for the client that has resumed it: an editor's
// session of Delve's goes on by itself, once those who wait for Delve's lock have had it.
func Nudge() {
	r := &inside
	r.mu.Lock()
	group := r.group
	over := r.announce(0) // it comes at once
	r.mu.Unlock()
	defer over()
	if group != nil {
		_ = group.RequestManualStop() // a program that has exited stops by itself
	}
}
