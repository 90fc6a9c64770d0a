package main

import (
	"context"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/clewdbg/clew/unwind"
)

// lateCollection is the percentage of garbage (see [debug.SetGCPercent]) until the first collection, which begins at 16 MB
// instead of 4: a process that reads one program's tables would else spend a fifth of its time on what it still needs.
const lateCollection = 400

// collectLate delays the first collection of garbage, and only that one.
func collectLate() {
	type seen struct{ _ [16]byte }
	usual := debug.SetGCPercent(lateCollection)
	runtime.SetFinalizer(new(seen), func(*seen) { debug.SetGCPercent(usual) })
}

// settleAfter is how long after it was told of images a plugin returns memory: what reading their tables has left is garbage of several megabytes.
const settleAfter = 500 * time.Millisecond

// settling is a plugin's strategy that returns memory when it has read tables.
type settling struct {
	unwind.Unwinder
	timer *time.Timer
}

func newSettling(u unwind.Unwinder) *settling {
	timer := time.AfterFunc(time.Hour, func() {
		runtime.GC() // what gRPC has in its pools (sync.Pool) outlives one collection
		debug.FreeOSMemory()
	})
	timer.Stop()
	return &settling{u, timer}
}

// Update implements [unwind.Unwinder].
func (s *settling) Update(ctx context.Context, delta unwind.ImageDelta) ([]unwind.ImageReport, error) {
	defer s.timer.Reset(settleAfter)
	return s.Unwinder.Update(ctx, delta)
}
