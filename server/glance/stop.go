package glance

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"sync"
	"time"

	"github.com/clewdbg/clew/server/internal/goruntime"
	"github.com/clewdbg/clew/server/internal/procfs"
)

// seen is what was copied at the stop.
type seen struct {
	mu      sync.Mutex
	closed  bool
	threads []goruntime.Thread
	notes   *goruntime.Notes
	gs      goruntime.Goroutines
	err     error // of the list of goroutines
	left    Left
	paused  time.Duration
	clock   func(nano int64) time.Time // nil where the process's clock is another
}

// Left is what a listing lacks: what there was no time or room for.
type Left struct {
	Limit  time.Duration // for which the process may stand still, 0 for any time
	Places uint64        // of the runtime's list of goroutines that were not copied
	Of     uint64        // places that the list has
	Labels int           // goroutines whose labels were not copied
	Memory bool          // it was room that ended, not time
	// Threads are those that did not stop: in a sleep that cannot be interrupted, or not in time.
	Threads []LateThread
}

// LateThread is a thread that did not stop.
type LateThread struct {
	ID    uint64
	Name  string
	Where string // the function of the kernel that it sleeps in; "" if that is not known
	Sleep bool   // it sleeps, and cannot be interrupted (state D)
	Known bool   // its registers are known
}

// String names the thread, and why it did not stop.
func (t *LateThread) String() string {
	text := fmt.Sprintf("thread %d", t.ID)
	if t.Name != "" {
		text += fmt.Sprintf(" (%q)", t.Name)
	}
	if !t.Sleep {
		return text + " did not stop in time"
	}
	text += " is in a sleep that the kernel does not interrupt (state D"
	if t.Where != "" {
		text += ", in " + t.Where
	}
	return text + ")"
}

func (s *seen) publish(threads []goruntime.Thread, notes *goruntime.Notes) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.threads, s.notes = threads, notes
	}
}

// close ends the copying; what comes later does not count.
func (s *seen) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
}

// look stops the process, copies what stacks need, and lets it go on: at once, or when it is released ([Program.Hold]).
func (p *Program) look() (*seen, error) {
	out := &seen{}
	if !p.hold {
		return out, p.lookUntil(out, func(time.Time) {})
	}
	copied, released, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- p.lookUntil(out, func(end time.Time) {
			close(copied)
			var over <-chan time.Time
			if !end.IsZero() {
				over = time.After(time.Until(end))
			}
			select {
			case <-released:
			case <-over:
			}
		})
	}()
	select {
	case <-copied:
		p.release = func() {
			close(released)
			if err := <-done; err != nil {
				return // threads have ended meanwhile
			}
		}
		return out, nil
	case err := <-done:
		return out, err
	}
}

// Parts of the time for which a process may stand still. The rest is for letting threads go on.
const (
	stopPart = 0.5 // until when threads have stopped
	copyPart = 0.9 // until when copies are made
	holdPart = 0.5 // the same where values are read afterwards
	grace    = 20 * time.Millisecond
)

// share is the time at which a part of the limit is over, zero without one.
func share(started time.Time, limit time.Duration, part float64) time.Time {
	if limit <= 0 {
		return time.Time{}
	}
	return started.Add(time.Duration(part * float64(limit)))
}

// lookUntil does that; the process stands still until wait returns.
func (p *Program) lookUntil(out *seen, wait func(end time.Time)) (err error) {
	c := &copier{p: p}
	c.bulk = &goruntime.Bulk{Runtime: &goruntime.Runtime{Layout: p.layout, Arch: p.arch, Memory: p.memory}, AllM: p.vars["runtime.allm"], Address: p.address, Late: c.Late}
	c.room = p.makeRoom(&out.gs)
	inside := p.inside()
	collect := collectNothing()
	defer collect()
	if clock, ok := clockOf(p.pid); ok { // the process may end when it goes on
		out.clock = clock
	}
	out.left.Limit = p.limit
	out.paused, err = whileStopped(p.pid, p.limit, func(started time.Time, threads []stopped) error {
		part := copyPart
		if p.hold {
			part = holdPart
		}
		c.until = share(started, p.limit, part)
		for i := range threads {
			threads[i].inside = inside(uint64(threads[i].id))
			if late := threads[i].late; late != nil {
				_, late.Known = threads[i].registers.PC(p.arch)
				out.left.Threads = append(out.left.Threads, *late)
			}
		}
		err := p.copyUntil(c, threads, out)
		collect()
		if err == nil {
			wait(share(started, p.limit, copyPart))
		}
		p.memory.enter(after, p.memory.writable)
		return err
	})
	if p.blocked != nil {
		select {
		case <-p.blocked: // it was only slow
			p.blocked = nil
		case <-time.After(patience):
		}
	}
	if err != nil {
		return fmt.Errorf("process %d: %w", p.pid, err)
	}
	for i := range out.left.Threads[:min(len(out.left.Threads), threadsNamed)] {
		out.left.Threads[i].describe(p.pid)
	}
	return nil
}

// threadsNamed is how many threads that did not stop are looked at.
const threadsNamed = 16

// describe adds what the system says of a thread that did not stop.
func (t *LateThread) describe(pid int) {
	t.Name = procfs.ThreadName(pid, t.ID)
	t.Sleep = t.Sleep || procfs.State(pid, int(t.ID)) == 'D'
	if t.Sleep {
		t.Where = procfs.Sleeps(pid, int(t.ID))
	}
}

// patience bounds the wait for what takes no time unless something is wrong.
const patience = 2 * time.Second

// copyUntil copies until there is no more time, even if a read does not come back.
func (p *Program) copyUntil(c *copier, threads []stopped, out *seen) error {
	done, over := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(over)
		var err error
		onThread(func() { err = c.copy(threads, out) })
		done <- err
	}()
	var late <-chan time.Time
	if !c.until.IsZero() {
		late = time.After(time.Until(c.until) + grace)
	}
	var err error
	select {
	case err = <-done:
	case <-late:
		p.blocked = over // what it still writes to is left to it
		err = errBlocked
	}
	out.close()
	out.gs.Close()
	out.left.Places, out.left.Of, out.left.Labels = out.gs.Left()
	out.left.Memory = p.blocked == nil && c.full
	p.memory.settle()
	switch {
	case out.threads == nil && err == nil:
		return errBlocked
	case out.threads == nil:
		return err
	case p.blocked != nil:
		rt := &goruntime.Runtime{Layout: p.layout, Arch: p.arch, Memory: p.memory}
		out.notes = rt.Notes(p.address)
		if out.left.Of > 0 {
			err = nil // the rest of the list is said to be left out
		}
	}
	out.err = err
	return nil
}

// collectNothing has no garbage collected until the returned function is called: that would cost time that the process waits for.
func collectNothing() func() {
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(math.MaxInt64)
	return sync.OnceFunc(func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	})
}

// errBlocked: memory of the process does not come (userfaultfd, a file on a network), or there was no time for it.
var errBlocked = errors.New("nothing could be copied in the time that --max-pause leaves; allow more")

// inside returns how the process calls its threads, in a namespace of its own. What is there before the stop is read before it.
func (p *Program) inside() func(thread uint64) uint64 {
	of := procfs.Inside(p.pid)
	if of == nil {
		return func(thread uint64) uint64 { return thread }
	}
	known := make(map[uint64]uint64)
	ids, _ := tasks(p.pid) // what is wrong shows later
	for _, id := range ids {
		known[uint64(id)] = of(uint64(id))
	}
	return func(thread uint64) uint64 {
		if id := known[thread]; id != 0 {
			return id
		}
		return of(thread)
	}
}

// makeRoom makes memory for the copies beforehand: the kernel takes longer to make pages than to fill them. It is not the
// garbage collector's, which would let as much garbage pile up.
func (p *Program) makeRoom(gs *goruntime.Goroutines) []byte {
	if p.room == nil {
		p.room = reserve(maxRoom)
	}
	const (
		forOne     = 512                   // bytes of most parked goroutines' stacks
		mostPlaces = 1 << 20               // a list may lie
		forTime    = 800 * time.Nanosecond // for one, at least
	)
	n := (&goruntime.Runtime{Layout: p.layout, Arch: p.arch, Memory: p.memory}).Count(p.address)
	n = min(n-min(n, p.first), mostPlaces)
	if p.limit > 0 {
		n = min(n, uint64(p.limit/forTime)+1)
	}
	if p.onlyThreads {
		n = 0
	}
	gs.Reserve(n+4096, p.earlier)
	p.earlier = nil
	size := min(n*forOne+16<<20, uint64(len(p.room)))
	for i := uint64(0); i < size; i += pageSize {
		p.room[i] = 1
	}
	return p.room
}
