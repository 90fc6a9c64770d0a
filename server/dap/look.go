package dap

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/clewdbg/clew/server/corefile"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/unwind"
)

// look is clew's own look at the program: what it has found out at the present
// stop, and the one piece of work that is being done.
type look struct {
	mu      sync.Mutex
	session Target
	core    *corefile.File // nil for a process
	process *live.Process  // keeps what is the same at the next stop
	// debugFolders are where it looks for separate debug files.
	debugFolders []string
	view         *view
	// turn holds a token while a piece of work is being done. givenUp: it was given
	// up and has not come back yet; it may hold what it works with, so there is no
	// other until it has.
	turn    chan struct{}
	givenUp bool
	// reached is closed when it is known whether there is a program that is reached
	// through a server; nil where none is to be reached.
	reached chan struct{}
	closed  bool
	serves  int64              // the client's request that work is being done for
	stop    context.CancelFunc // ends it

	// opened are sets of strategies, by their names: the configured one, and others
	// that were asked for. Only the piece of work that is being done adds to them.
	opened map[string]*opened
}

// view is the program at one stop. Only the piece of work that is being done
// uses it.
type view struct {
	at       stop
	session  Target
	process  *live.Process
	live     *live.View
	goOnly   *engine.Prepared // without any strategy: Go's tables are the host's own
	prepared *engine.Prepared // with the strategies; nil until one is needed
	others   map[*opened]*engine.Prepared
	stacks   map[threadKey]*assembled
	goStacks map[threadKey]*goStack
	notGo    map[threadKey]bool           // have other code
	delve    map[int64]map[int]delveFrame // by Delve's thread ID and frame index
	known    map[int64]resolved           // threads, by DAP thread ID
}

// threadKey names a thread of control: a goroutine, or a thread without one.
type threadKey struct{ goroutine, thread uint64 }

func keyOf(th delve.Thread) threadKey {
	if th.Goroutine != 0 {
		return threadKey{goroutine: th.Goroutine}
	}
	return threadKey{thread: th.ID}
}

var (
	errRunning  = errors.New("the program is running")
	errNoTarget = errors.New("there is no program to look at")
	errBusy     = errors.New("an earlier look at the program has not ended yet")
	errPatience = errors.New("looking at the program took too long")
	errCancel   = errors.New("cancelled")
)

// attach takes the process that Delve has now, or the core file.
func (p *Proxy) attach() {
	if p.opts.Remote != nil {
		p.reachRemote()
		return
	}
	var s *delve.Session
	if p.opts.Session != nil {
		s = p.opts.Session()
	}
	l := &p.look
	l.mu.Lock()
	defer l.mu.Unlock()
	l.session, l.process, l.view = nil, nil, nil
	if s == nil {
		return
	}
	l.session = s
	core, executable := p.config.coreFile()
	switch {
	case s.Live():
		l.process = live.NewProcess(s)
	case core != "" && l.core == nil: // one session has one, and cannot restart it
		file, err := corefile.Open(core)
		if err != nil {
			p.opts.Log("core file: %v", err)
			return
		}
		l.core = file
		l.process = live.NewCore(s, file, executable)
	default:
		return // a recording
	}
	l.process.FindDebugFiles(l.debugFolders)
}

func (l *look) target() Target {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session
}

// cancel ends the work for a request of the client's.
func (l *look) cancel(seq int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop == nil || l.serves != seq || seq == 0 {
		return false
	}
	l.stop()
	return true
}

func (l *look) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.opened {
		o.close()
	}
	if l.core != nil {
		_ = l.core.Close() // it was only read
	}
	l.closed = true
	l.closeRemote()
}

// own does a piece of clew's own work at the present stop, in bounded time. An
// error means that Delve has to do: the work failed, took too long, or panicked.
// Work that was given up goes on in the background until it comes to an end,
// and its results are dropped.
func (p *Proxy) own(ctx context.Context, request int64, work func(context.Context, *view) error) error {
	return p.ownPaced(ctx, request, func(ctx context.Context, v *view, _ func()) error { return work(ctx, v) })
}

// ownPaced is own for work of many steps: it says after each that it gets on,
// and only the time from step to step is bounded.
func (p *Proxy) ownPaced(ctx context.Context, request int64, work func(ctx context.Context, v *view, getsOn func()) error) error {
	ctx, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	patience := time.AfterFunc(p.opts.Patience, func() { cut(errPatience) })
	defer patience.Stop()
	getsOn := func() { patience.Reset(p.opts.Patience) }
	l := &p.look
	l.mu.Lock()
	givenUp := l.givenUp
	l.mu.Unlock()
	if givenUp {
		return errBusy
	}
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := l.reach(ctx); err != nil {
		<-l.turn
		return err
	}
	at, stopped := p.state.at()
	l.mu.Lock()
	session, process := l.session, l.process
	if !stopped || process == nil {
		l.mu.Unlock()
		<-l.turn
		if !stopped {
			return errRunning
		}
		return errNoTarget
	}
	l.serves, l.stop = request, func() { cut(errCancel) }
	l.mu.Unlock()
	done := make(chan error, 1)
	ended := false // under l.mu
	go func() {
		err := p.work(ctx, session, process, at, func(ctx context.Context, v *view) error { return work(ctx, v, getsOn) })
		l.mu.Lock()
		l.serves, l.stop, l.givenUp, ended = 0, nil, false, true
		l.mu.Unlock()
		<-l.turn
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		why := context.Cause(ctx)
		l.mu.Lock()
		l.givenUp = !ended && errors.Is(why, errPatience) // what was cancelled ends soon: the next one waits
		l.mu.Unlock()
		return why
	}
}

func (p *Proxy) work(ctx context.Context, session Target, process *live.Process, at stop, work func(context.Context, *view) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			p.opts.Log("panic: %v\n%s", r, debug.Stack())
			err = fmt.Errorf("internal error: %v", r)
		}
	}()
	v, err := p.viewAt(ctx, session, process, at)
	if err != nil {
		return err
	}
	if err := work(ctx, v); err != nil {
		return err
	}
	return p.still(v)
}

// viewAt gives the view of a stop, made when it is first needed.
func (p *Proxy) viewAt(ctx context.Context, session Target, process *live.Process, at stop) (*view, error) {
	l := &p.look
	l.mu.Lock()
	v := l.view
	l.mu.Unlock()
	if v != nil && v.at == at && v.session == session {
		if p.still(v) == nil {
			return v, nil
		}
		at, _ = p.state.at()
	}
	seen, err := process.Look(false)
	if err != nil {
		return nil, err
	}
	v = &view{
		at: at, session: session, process: process, live: seen, others: make(map[*opened]*engine.Prepared),
		stacks: make(map[threadKey]*assembled), delve: make(map[int64]map[int]delveFrame), known: make(map[int64]resolved),
		goOnly: engine.New(nil).Prepare(ctx, &seen.Input), goStacks: make(map[threadKey]*goStack), notGo: make(map[threadKey]bool),
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session == session {
		l.view = v
	}
	return v, nil
}

// current is the thread of control that the session has selected. Where Go came with a
// library, Delve may take any word of a thread's for its g, and select no goroutine
// that there is.
func (v *view) current() (delve.Thread, error) {
	selected, err := v.session.Selected()
	if err != nil {
		return delve.Thread{}, err
	}
	if selected.Goroutine != 0 {
		th, err := v.live.Goroutine(selected.Goroutine)
		if err == nil || !v.session.InLibrary() {
			return th, err
		}
	}
	return v.thread(selected.Thread)
}

func (v *view) thread(id uint64) (delve.Thread, error) {
	threads, err := v.live.Threads()
	if err != nil {
		return delve.Thread{}, err
	}
	for _, th := range threads {
		if th.ID == id {
			return th, nil
		}
	}
	return delve.Thread{}, fmt.Errorf("there is no thread %d", id)
}

// arch is the program's architecture.
func (v *view) arch() unwind.Arch { return v.live.Input.Target.Arch }
