package pluginhost

import (
	"cmp"
	"context"
	"os"
	"slices"
	"sync"
)

// Host runs the plugins of one debug session.
type Host struct {
	options Options
	rest    rest
	plugins []*Plugin

	ctx     context.Context // ends when Close begins: no more calls and starts
	cancel  context.CancelFunc
	killCtx context.Context // ends when all plugins were asked to exit
	kill    context.CancelFunc

	mu      sync.Mutex
	session *session
	closed  bool
	tasks   sync.WaitGroup // goroutines that wait for processes to end
	once    sync.Once
	err     error // what Close returned
}

// New makes a host. It checks the configuration and starts nothing.
func New(o Options) (*Host, error) {
	o.setDefaults()
	h := &Host{options: o, rest: usualRest}
	for _, c := range o.Plugins {
		if err := c.check(); err != nil {
			return nil, err
		}
		if h.Plugin(c.Name) != nil {
			return nil, &ConfigError{Plugin: c.Name, Key: "name", Reason: "there are two of that name"}
		}
		h.plugins = append(h.plugins, &Plugin{
			config: c, host: h,
			log:      o.Logger.With("plugin", c.Name),
			starting: make(chan struct{}, 1),
		})
	}
	slices.SortStableFunc(h.plugins, func(a, b *Plugin) int { return cmp.Compare(a.config.Rank, b.config.Rank) })
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.killCtx, h.kill = context.WithCancel(context.Background())
	return h, nil
}

// Plugins returns the plugins by rank, the first to be asked first.
func (h *Host) Plugins() []*Plugin { return slices.Clone(h.plugins) }

// Plugin returns the plugin of that name, nil if there is none.
func (h *Host) Plugin(name string) *Plugin {
	if i := slices.IndexFunc(h.plugins, func(p *Plugin) bool { return p.config.Name == name }); i >= 0 {
		return h.plugins[i]
	}
	return nil
}

// Health reports the state of the plugins, by rank. It starts no process; to learn
// whether an idle plugin would start, call [Plugin.Describe] first.
func (h *Host) Health() []Health {
	out := make([]Health, len(h.plugins))
	for i, p := range h.plugins {
		out[i] = p.health()
	}
	return out
}

// Close ends all plugins and removes the session folder. Calls that are under
// way return [ErrClosed]. It takes little more than 200 ms, however a plugin
// behaves, and can be called more than once.
func (h *Host) Close() error {
	h.once.Do(func() { h.err = h.close() })
	return h.err
}

func (h *Host) close() error {
	h.cancel()
	// The folder goes first, while there are plugins that would see to it if we
	// were killed now. They are connected, and need their sockets' names no more.
	h.mu.Lock()
	if h.session != nil {
		_ = os.RemoveAll(h.session.dir) // again below: a plugin may be about to start
	}
	h.mu.Unlock()
	var asked sync.WaitGroup
	for _, p := range h.plugins {
		p.mu.Lock()
		in := p.current
		p.current = nil // its end is no crash
		p.mu.Unlock()
		if in != nil {
			asked.Go(func() { in.stop(exitGrace) })
		}
	}
	asked.Wait()
	h.kill() // processes that are being started
	for _, p := range h.plugins {
		p.starting <- struct{}{} // for good: it is never started again
		p.forget()               // started while the others were asked
	}
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.tasks.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.session == nil {
		return nil
	}
	return h.session.remove()
}

// openSession makes the session folder when the first plugin needs it.
func (h *Host) openSession() (*session, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	if h.session == nil {
		s, err := newSession(h.options.SessionParent)
		if err != nil {
			return nil, err
		}
		h.session = s
	}
	return h.session, nil
}

// spawn runs f in a goroutine that Close waits for; false means that the host
// is closed and f did not run.
func (h *Host) spawn(f func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.tasks.Go(f)
	return true
}

// reap kills a process without making the caller wait for its end.
func (h *Host) reap(in *instance) {
	in.process.kill()
	if !h.spawn(func() { in.stop(0) }) {
		in.stop(0)
	}
}
