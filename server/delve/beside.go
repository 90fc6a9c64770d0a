package delve

import (
	"sync"

	"github.com/go-delve/delve/pkg/proc"
)

// beside lets clew's own reads of memory go on while Delve walks a stack, which holds Delve's lock for as long as it
// takes: half of a shallow stack's time, and all of a deep one's. Such a walk only reads. So do the reads beside it: they read
// the process's memory without ptrace, and the list of breakpoints, which changes only under the lock. Test: TestBeside.
type beside struct {
	mu     sync.RWMutex
	target *proc.Target // that is walked, nil while nothing is
}

// open lets reads go beside the caller, who has Delve's lock, until the function that it returns was called: when it
// returns, none is under way.
func (b *beside) open(t *proc.Target) (end func()) {
	b.set(t)
	return func() { b.set(nil) }
}

func (b *beside) set(t *proc.Target) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.target = t
}

// read calls a function with the target, if a stack of it is walked now. It returns false if none is, or if the
// function fails: the read is then to be tried with Delve's lock.
func (b *beside) read(with func(*proc.Target) error) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.target != nil && with(b.target) == nil
}
