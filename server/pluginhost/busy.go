package pluginhost

import (
	"fmt"
	"runtime"
	"sync"
	"time"
)

// A third party's plugin may use processor time between calls, for garbage collection or to prepare tables. It and the processes
// that it has started may use rest.allowed at a time, which fills up again by idleShare of the time that passes.
// Who meets it: the user of a plugin with a thread that never ends. Without the bound it shows as nothing but a hot machine, for as long
// as the session lasts.
const idleShare = 0.1

// rest says how a host looks after plugins that are to rest.
type rest struct{ allowed, tick time.Duration }

var usualRest = rest{allowed: 10 * time.Second, tick: 2 * time.Second}

// BusyError says that a plugin took too much processor time between calls, and was killed.
type BusyError struct {
	Plugin string
	Used   time.Duration
	Over   time.Duration
}

// Error says how much it was.
func (e *BusyError) Error() string {
	return fmt.Sprintf("plugin %s took %v of processor time within %v while nothing asked it", e.Plugin, e.Used.Round(100*time.Millisecond), e.Over.Round(100*time.Millisecond))
}

// MemoryError says that a plugin and the processes that it has started had too much memory, and were killed.
type MemoryError struct {
	Plugin     string
	Have, Most uint64 // bytes
}

// Error says how much it was.
func (e *MemoryError) Error() string {
	return fmt.Sprintf("plugin %s and what it has started have %d MiB of memory; memoryMiB allows %d", e.Plugin, e.Have>>20, e.Most>>20)
}

// usage is how long calls have been under way. It is safe for concurrent use.
type usage struct {
	mu     sync.Mutex
	active int
	since  time.Time // if active
	before time.Duration
}

// begin notes that a call begins; what it returns notes its end.
func (u *usage) begin() (end func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.active++; u.active == 1 {
		u.since = time.Now()
	}
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.active--; u.active == 0 {
			u.before += time.Since(u.since)
		}
	}
}

// total is how long at least one call has been under way.
func (u *usage) total() time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.active > 0 {
		return u.before + time.Since(u.since)
	}
	return u.before
}

// watch ends a third party's process that is busy while no call is under way, or that has more memory than it may with all that it has
// started. It returns when the process has ended.
func (p *Plugin) watch(in *instance) {
	allowed := p.host.rest.allowed
	tick := time.NewTicker(p.host.rest.tick)
	defer tick.Stop()
	m := meter{group: in.process.pid()}
	m.read() // to begin with
	spare, idle := allowed, idleTime{busy: p.calls.total(), at: time.Now()}
	for {
		select {
		case <-in.process.gone:
			return
		case <-p.host.ctx.Done():
			return
		case <-tick.C:
		}
		if spare == allowed {
			idle.used, idle.over = 0, 0
		}
		used, over := idle.next(m.read(), p.calls.total())
		spare = min(allowed, spare+time.Duration(idleShare*float64(over))) - used
		if spare < 0 {
			p.tooMuch(in, "it does not rest", &BusyError{p.config.Name, idle.used, idle.over})
			return
		}
		if have := m.memory(in.process.command.memory); have > 0 {
			p.tooMuch(in, "it allocates too much", &MemoryError{p.config.Name, have, in.process.command.memory})
			return
		}
	}
}

// idleTime splits a process's time.
type idleTime struct {
	taken, busy time.Duration // of the processor, and of calls, so far
	at          time.Time
	used, over  time.Duration // since nothing was counted
}

// next returns how much processor time cannot be that of calls since the last time, and how long that is ago.
func (t *idleTime) next(taken, busy time.Duration) (used, over time.Duration) {
	now := time.Now()
	used, over = max(0, taken-t.taken-time.Duration(runtime.NumCPU())*(busy-t.busy)), now.Sub(t.at)
	t.taken, t.busy, t.at = taken, busy, now
	t.used, t.over = t.used+used, t.over+over
	return used, over
}

// tooMuch ends a process and switches the plugin off: it would do the same again.
func (p *Plugin) tooMuch(in *instance, reason string, err error) {
	p.mu.Lock()
	mine := p.current == in
	p.mu.Unlock()
	if mine {
		p.switchOff(&DisabledError{Plugin: p.config.Name, Reason: reason, Err: err}) // first, or a call starts it again
		p.forget()
	}
}
