package pluginhost

import (
	"fmt"
	"slices"
	"time"
)

// failed takes a process that failed away and counts the failure, once for each
// process: many walks may fail with it, and the goroutine that watches it sees its end
// as well.
func (p *Plugin) failed(in *instance, err error) {
	p.mu.Lock()
	mine := p.current == in
	if mine {
		p.current = nil
	}
	p.mu.Unlock()
	if !mine {
		return
	}
	p.host.reap(in)
	if p.host.ctx.Err() == nil {
		p.countFailure(err, false)
	}
}

// note keeps an error for [Host.Health].
func (p *Plugin) note(err error) {
	p.mu.Lock()
	p.lastErr = err
	p.mu.Unlock()
	p.log.Warn("plugin failed", "error", err)
}

// countFailure counts a failure, and switches the plugin off when there were too many
// within the window, or when another start would fail likewise.
func (p *Plugin) countFailure(err error, permanent bool) {
	p.note(err)
	now := time.Now()
	p.mu.Lock()
	recent := slices.DeleteFunc(p.failures, func(t time.Time) bool { return now.Sub(t) >= failureWindow })
	p.failures = append(recent, now)
	var off *DisabledError
	switch {
	case p.disabled != nil:
	case permanent:
		off = &DisabledError{Plugin: p.config.Name, Reason: "it cannot be started", Err: err}
	case len(p.failures) >= maxFailures:
		off = &DisabledError{Plugin: p.config.Name, Reason: fmt.Sprintf("it failed %d times within a minute", maxFailures), Err: err}
	}
	p.mu.Unlock()
	if off != nil {
		p.switchOff(off)
	}
}

// switchOff switches the plugin off, once, and tells the user.
func (p *Plugin) switchOff(off *DisabledError) {
	p.mu.Lock()
	first := p.disabled == nil
	if first {
		p.disabled, p.lastErr = off, off.Err
	}
	p.mu.Unlock()
	if first {
		p.host.options.OnNotice(off.Error() + "; its frames fall to the next strategy")
	}
}

// health is the plugin's part of [Host.Health].
func (p *Plugin) health() Health {
	h := Health{Name: p.config.Name, Rank: p.config.Rank, Builtin: p.config.builtin(), Path: p.config.Path}
	if h.Builtin {
		_, h.Path, _ = selfPath() // only for show
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	h.Restarts = max(p.starts-1, 0)
	if p.description != nil {
		h.Version = p.description.Version
	}
	if p.lastErr != nil {
		h.LastError = p.lastErr.Error()
	}
	switch {
	case p.host.ctx.Err() != nil:
		h.State = StateClosed
	case p.disabled != nil:
		h.State = StateDisabled
	case p.current != nil:
		h.State = StateRunning
		h.PID = p.current.process.pid()
	default:
		h.State = StateIdle
	}
	return h
}
