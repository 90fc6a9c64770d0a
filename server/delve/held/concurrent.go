package held

import (
	"sync"

	"github.com/go-delve/delve/pkg/proc"
)

// concurrentReads lets clew's own reads of memory go on while Delve walks a stack, which holds Delve's lock for as long as it
// takes: half of a shallow stack's time, and all of a deep one's. Such a walk only reads. So do the concurrent reads: they read
// the process's memory without ptrace, and the list of breakpoints, which changes only under the lock. Test: TestConcurrentReads.
type concurrentReads struct {
	mu     sync.RWMutex
	target *proc.Target // that is walked, nil while nothing is
}

// AllowReads has memory read while the caller has Delve's lock, and walks a stack of the target, until the function that it returns was called: when it
// returns, none is under way.
func (p *Program) AllowReads(t *proc.Target) (end func()) {
	p.concurrent.set(t)
	return func() { p.concurrent.set(nil) }
}

func (c *concurrentReads) set(t *proc.Target) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.target = t
}

// read calls a function with the target, if a stack of it is walked now. It returns false if none is, or if the
// function fails: the read is then to be tried with Delve's lock.
func (c *concurrentReads) read(with func(*proc.Target) error) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.target != nil && with(c.target) == nil
}
