package pluginhost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/wire"
)

// The rule by which a plugin is switched off.
const (
	maxFailures   = 3
	failureWindow = time.Minute
)

// Plugin is one strategy in its own process. It is safe for concurrent
// use; Update and Yield wait for walks that are under way.
//
// The sections of images are kept for as long as the images are, to be sent
// again to a new process: their data must not be changed.
type Plugin struct {
	config Config
	host   *Host
	log    *slog.Logger

	// gate: walks lock it for reading, updates for writing.
	gate  sync.RWMutex
	known known
	calls usage

	// starting holds a token while somebody starts or takes away the process.
	starting chan struct{}
	command  *command // what to run, once it is known; used under starting

	mu          sync.Mutex // guards the following
	current     *instance
	description *unwind.Description
	failures    []time.Time
	starts      int
	lastErr     error
	disabled    *DisabledError
}

var _ unwind.Unwinder = (*Plugin)(nil)

// Name is the strategy's name.
func (p *Plugin) Name() string { return p.config.Name }

// Rank is the configured rank; the lowest is asked first.
func (p *Plugin) Rank() int { return p.config.Rank }

// Describe implements [unwind.Unwinder]. It starts the process if there is none. The
// answer is that of the first start.
func (p *Plugin) Describe(ctx context.Context) (unwind.Description, error) {
	p.gate.RLock()
	defer p.gate.RUnlock()
	p.mu.Lock()
	d, off := p.description, p.disabled
	p.mu.Unlock()
	if off != nil {
		return unwind.Description{}, off
	}
	if d != nil {
		return *d, nil
	}
	if _, err := p.running(ctx); err != nil {
		return unwind.Description{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return *p.description, nil
}

// Update implements [unwind.Unwinder]. Where it fails, the plugin knows as much
// as before.
func (p *Plugin) Update(ctx context.Context, delta unwind.ImageDelta) ([]unwind.ImageReport, error) {
	p.gate.Lock()
	defer p.gate.Unlock()
	if p.waits() && p.config.Known.mayWait(delta.Added) {
		reports := make([]unwind.ImageReport, len(delta.Added))
		for i := range reports {
			reports[i].ID = delta.Added[i].ID
		}
		p.known.apply(&delta)
		return reports, nil
	}
	reports, err := call(ctx, p, "Update", p.host.options.UpdateTimeout, func(ctx context.Context, c *wire.Client) ([]unwind.ImageReport, error) {
		return c.Update(ctx, delta)
	})
	if err != nil {
		p.forget()
		return nil, err
	}
	p.known.apply(&delta)
	return reports, nil
}

// Yield implements [unwind.Unwinder].
func (p *Plugin) Yield(ctx context.Context, ranges unwind.RangeSet) error {
	p.gate.Lock()
	defer p.gate.Unlock()
	if p.waits() && p.config.Known != nil {
		p.known.yielded, p.known.yield = true, ranges
		return nil
	}
	_, err := call(ctx, p, "Yield", p.host.options.UpdateTimeout, func(ctx context.Context, c *wire.Client) (struct{}, error) {
		return struct{}{}, c.Yield(ctx, ranges)
	})
	if err != nil {
		p.forget()
		return err
	}
	p.known.yielded, p.known.yield = true, ranges
	return nil
}

// waits reports whether the process has yet to be started, and may be: it is told of
// everything then.
func (p *Plugin) waits() bool {
	in, err := p.ready()
	return in == nil && err == nil
}

// forget abandons the process after a change that may or may not have reached
// it; the next one is sent the host's state. This counts as no failure.
func (p *Plugin) forget() {
	p.mu.Lock()
	in := p.current
	p.current = nil
	p.mu.Unlock()
	if in != nil {
		p.host.reap(in)
	}
}

// Walk implements [unwind.Unwinder].
func (p *Plugin) Walk(ctx context.Context, requests []unwind.WalkRequest) ([]unwind.WalkResult, error) {
	p.gate.RLock()
	defer p.gate.RUnlock()
	return call(ctx, p, "Walk", p.host.options.WalkTimeout, func(ctx context.Context, c *wire.Client) ([]unwind.WalkResult, error) {
		results, err := c.Walk(ctx, requests)
		if err != nil {
			return nil, err
		}
		return results, p.checkTrust(results)
	})
}

// checkTrust holds a plugin to the highest trust that it described itself with
// (R1): a scan must not pass for call-frame information.
func (p *Plugin) checkTrust(results []unwind.WalkResult) error {
	p.mu.Lock()
	limit := p.description.Trust
	p.mu.Unlock()
	for i := range results {
		for k := range results[i].Steps {
			if t := results[i].Steps[k].Trust; t > limit {
				return &wire.ContractError{Method: "Walk", Reason: fmt.Sprintf("step %d of result %d has trust %s; described was %s at most", k, i, t, limit)}
			}
		}
	}
	return nil
}

// call makes a call with a deadline, and once more if the process crashed.
func call[T any](ctx context.Context, p *Plugin, method string, limit time.Duration, f func(context.Context, *wire.Client) (T, error)) (T, error) {
	for repeated := false; ; repeated = true {
		var nothing T
		in, err := p.running(ctx)
		if err != nil {
			return nothing, err
		}
		var value T
		err = p.attempt(ctx, limit, func(ctx context.Context) (err error) {
			value, err = f(ctx, in.client)
			return err
		})
		if err == nil {
			return value, nil
		}
		err = p.judge(ctx, in, method, limit, err)
		if repeated || !errors.As(err, new(*CrashError)) {
			return nothing, err
		}
	}
}

// attempt bounds a call by the deadline and by the host's life.
func (p *Plugin) attempt(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.host.ctx, func() { cancel(ErrClosed) })()
	ctx, stop := context.WithTimeoutCause(ctx, limit, errOverdue)
	defer stop()
	defer p.calls.begin()()
	return f(ctx)
}

// judge decides whether an error ends the process, and turns it into the caller's
// error.
func (p *Plugin) judge(ctx context.Context, in *instance, method string, limit time.Duration, err error) error {
	switch {
	case errors.As(err, new(*wire.RequestError)):
		return err
	case p.host.ctx.Err() != nil:
		return fmt.Errorf("plugin %s: %w", p.config.Name, ErrClosed)
	case errors.Is(err, errOverdue):
		err = &TimeoutError{Plugin: p.config.Name, Method: method, After: limit}
	case ctx.Err() != nil: // the caller gave up
		return fmt.Errorf("plugin %s: %w", p.config.Name, err)
	case errors.As(err, new(*wire.StrategyError)):
		err = fmt.Errorf("plugin %s: %w", p.config.Name, err)
		p.note(err)
		return err
	case errors.As(err, new(*wire.ContractError)):
		err = fmt.Errorf("plugin %s: %w", p.config.Name, err)
	default:
		_, status := in.ended()
		err = &CrashError{Plugin: p.config.Name, Status: status}
	}
	p.failed(in, err)
	return err
}

// running returns the plugin's process, and starts it if necessary. After a crash
// while it starts it is started once more, as after any crash.
func (p *Plugin) running(ctx context.Context) (*instance, error) {
	if in, err := p.ready(); in != nil || err != nil {
		return in, err
	}
	select {
	case p.starting <- struct{}{}:
		defer func() { <-p.starting }()
	case <-ctx.Done():
		return nil, fmt.Errorf("plugin %s: %w", p.config.Name, context.Cause(ctx))
	case <-p.host.ctx.Done():
		return nil, fmt.Errorf("plugin %s: %w", p.config.Name, ErrClosed)
	}
	for repeated := false; ; repeated = true {
		if in, err := p.ready(); in != nil || err != nil {
			return in, err
		}
		in, crashed, err := p.startCounted()
		if err == nil || repeated || !crashed {
			return in, err
		}
	}
}

// startCounted starts the process, and counts a failure; crashed says that another
// attempt may succeed.
func (p *Plugin) startCounted() (in *instance, crashed bool, err error) {
	if in, err = p.start(); err == nil {
		return in, false, nil
	}
	if p.host.ctx.Err() != nil {
		return nil, false, fmt.Errorf("plugin %s: %w", p.config.Name, ErrClosed)
	}
	var failed *StartError
	p.countFailure(err, errors.As(err, &failed) && failed.permanent)
	return nil, errors.As(err, new(*CrashError)), err
}

// ready returns the running process, nil if there is none, or an error if there
// will be none.
func (p *Plugin) ready() (*instance, error) {
	if p.host.ctx.Err() != nil {
		return nil, fmt.Errorf("plugin %s: %w", p.config.Name, ErrClosed)
	}
	p.mu.Lock()
	in, off := p.current, p.disabled
	p.mu.Unlock()
	if off != nil {
		return nil, off
	}
	if in != nil {
		select {
		case <-in.process.gone: // killed between two calls
			p.failed(in, &CrashError{Plugin: p.config.Name, Status: in.process.status})
			return p.ready()
		default:
		}
	}
	return in, nil
}

// start starts a process and sends it the host's state. The caller holds the
// token and reads or writes the gate.
func (p *Plugin) start() (*instance, error) {
	sess, err := p.host.openSession()
	if err != nil {
		return nil, err
	}
	if p.command == nil {
		cmd, err := prepare(sess, &p.config)
		if err != nil {
			return nil, err
		}
		p.command = &cmd
	}
	in, err := launch(p.host.killCtx, sess, &p.config, *p.command, p.host.options.StartTimeout, p.log)
	if err != nil {
		return nil, err
	}
	d, err := p.brief(in)
	if err != nil {
		in.stop(0)
		return nil, err
	}
	p.mu.Lock()
	p.current = in
	p.starts++
	p.description = cmp.Or(p.description, &d)
	p.mu.Unlock()
	p.log.Debug("plugin started", "pid", in.process.pid(), "version", d.Version)
	if !p.host.spawn(func() {
		<-in.process.gone
		p.failed(in, &CrashError{Plugin: p.config.Name, Status: in.process.status})
	}) {
		p.forget()
		return nil, ErrClosed
	}
	if !p.config.builtin() {
		p.host.spawn(func() { p.watch(in) })
	}
	return in, nil
}

// brief asks a new process who it is and tells it what earlier ones knew.
func (p *Plugin) brief(in *instance) (unwind.Description, error) {
	var d unwind.Description
	tell := func(method string, f func(context.Context) error) error {
		limit := p.host.options.UpdateTimeout
		err := p.attempt(context.Background(), limit, f)
		if err == nil {
			return nil
		}
		return p.judge(context.Background(), in, method, limit, err)
	}
	err := tell("Describe", func(ctx context.Context) (err error) {
		d, err = in.client.Describe(ctx)
		if err == nil && d.Name != p.config.Name {
			err = &wire.ContractError{Method: "Describe", Reason: fmt.Sprintf("it says that it is %q, the configuration says %q", d.Name, p.config.Name)}
		}
		return err
	})
	if err == nil && p.known.sent {
		err = tell("Update", func(ctx context.Context) error {
			_, err := in.client.Update(ctx, p.known.delta())
			return err
		})
	}
	if err == nil && p.known.yielded {
		err = tell("Yield", func(ctx context.Context) error { return in.client.Yield(ctx, p.known.yield) })
	}
	return d, err
}
