package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/server/delve/executable"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/server/glance"
	"github.com/clewdbg/clew/server/listing"
	"github.com/clewdbg/clew/server/live"
)

// againFlags are those of clew stack that list a running process again and again.
type againFlags struct {
	count           int
	interval, watch time.Duration
}

// shortestInterval is how often a process is stopped at most.
const shortestInterval = time.Millisecond

func (f *againFlags) add(c *cobra.Command) {
	fl := c.Flags()
	fl.IntVar(&f.count, "count", 0, "list this many times; with --format json: a line each; with "+export.FormatsThat(wallClock)+": make one wall-clock profile of all listings")
	fl.DurationVar(&f.interval, "interval", 100*time.Millisecond, "with --count: the mean `time` from one listing to the next")
	fl.DurationVar(&f.watch, "watch", 0, "list again each time this `time` has passed, and print what has changed, with --format json a line each time, until interrupted or --count")
}

// wallClock says whether a format holds many listings as one profile.
func wallClock(f *export.Format) bool { return f.WallClock != nil }

func (f *againFlags) wanted() bool { return f.count != 0 || f.watch != 0 }

// checkAgain refuses flags that do not go together.
func (f *stackFlags) checkAgain(c *cobra.Command) error {
	a := &f.again
	if c.Flags().Changed("count") && a.count == 0 {
		return usageErrorf("--count 0 lists nothing; leave it out, or list at least once")
	}
	if !a.wanted() {
		if c.Flags().Changed("interval") {
			return usageErrorf("--interval is for --count")
		}
		return nil
	}
	lines := f.format == "json"
	for _, r := range []refusal{
		{f.core != "", "--count and --watch are for a running process (--pid N): a core file does not change"},
		{f.pid == 0 || !f.many(c), "--count and --watch list all of a running process: --pid N, without --goroutine ID and --thread ID"},
		{a.count < 0, fmt.Sprintf("--count %d is negative", a.count)},
		{a.watch != 0 && c.Flags().Changed("interval"), "--watch takes the time itself; --interval is for --count without it"},
		{a.watch != 0 && (f.format != "text" && !lines || f.output != ""), "--watch prints text, or JSON lines with --format json; leave out -o"},
		{a.watch != 0 && !lines && f.by() != listing.Stack, "--watch compares stacks; leave out --group"},
		{lines && f.output != "", "--count with --format json writes JSON lines to stdout; leave out -o"},
		{a.watch == 0 && !lines && f.form.WallClock == nil, "--count needs --format json, " + export.FormatsThat(wallClock) + ", or --watch"},
		{a.every() < shortestInterval, fmt.Sprintf("the time between listings is at least %v", shortestInterval)},
	} {
		if r.when {
			return usageErrorf("%s", r.why)
		}
	}
	return nil
}

// every is the time from one listing to the next.
func (f *againFlags) every() time.Duration {
	if f.watch != 0 {
		return f.watch
	}
	return f.interval
}

// gap is the time to the next listing. That of a profile varies by half the interval, so
// that listings do not go with the beat of the program; its mean is the interval.
func (f *againFlags) gap() time.Duration {
	if f.watch != 0 {
		return f.watch
	}
	return f.interval/2 + rand.N(f.interval)
}

// listAgain lists a running process until it ends, or as often as the flags say.
func (f *stackFlags) listAgain(c *cobra.Command, strats *strategies, notify func(string)) error {
	if err := executable.CheckAttachable(f.pid); err != nil {
		return failf("%v", err)
	}
	if err := glance.Allowed(f.pid); err != nil {
		return failf("%v", executable.ExplainAttach(f.pid, err))
	}
	program, process, err := f.openGlance(strats)
	if err != nil {
		return failf("%v", err)
	}
	r := &repeated{flags: f, program: program, process: process, engine: engine.New(strats.order), errors: c.ErrOrStderr()}
	if f.format == "json" {
		err := r.each(c.Context(), func(p *live.Process, l *listed) error { return l.line(p, c.OutOrStdout()) })
		if errors.Is(err, errInterrupted) && f.again.count == 0 {
			return nil
		}
		return err
	}
	if f.again.watch != 0 {
		w := &watch{out: c.OutOrStdout(), limit: f.listing.limit}
		if err := r.each(c.Context(), w.look); !errors.Is(err, errInterrupted) {
			return err
		}
		return nil
	}
	return r.profile(c, notify)
}

// repeated lists a process again and again.
type repeated struct {
	flags   *stackFlags
	program *glance.Program
	process *live.Process
	engine  *engine.Engine
	errors  io.Writer
	done    int // listings
}

// each stops the process as often as the flags say. What fails after the first
// time is in the error.
func (r *repeated) each(ctx context.Context, look func(*live.Process, *listed) error) error {
	a := &r.flags.again
	for next := time.Now(); a.count == 0 || r.done < a.count; r.done++ {
		l, err := r.flags.look(ctx, r.process, r.engine, r.program)
		if err == nil {
			err = look(r.process, l)
		}
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		if err != nil {
			return failf("%w", err)
		}
		if r.done == 0 {
			l.tellCorrupt(r.errors)
			tellLeft(r.errors, r.flags.pid, &l.left, nil)
		}
		r.program.Again()
		next = next.Add(a.gap())
		if next.Before(time.Now()) { // a listing takes longer than the interval
			next = time.Now()
		}
		if r.done+1 == a.count {
			continue
		}
		select {
		case <-ctx.Done():
			return failf("%w", context.Cause(ctx))
		case <-time.After(time.Until(next)):
		}
	}
	return nil
}

// profile writes all listings as one profile. If the process ends or the user interrupts,
// it is of what was seen until then.
func (r *repeated) profile(c *cobra.Command, notify func(string)) error {
	f := r.flags
	profile := export.NewWallClock(r.program.Arch(), f.again.interval)
	err := r.each(c.Context(), func(p *live.Process, l *listed) error {
		profile.Next(time.Now())
		for s := range l.each() {
			profile.Add(&s, l.at.Images())
		}
		return nil
	})
	if err != nil && r.done == 0 {
		return err
	}
	if err != nil {
		notify(fmt.Sprintf("%v; the profile is of %d of %d listings", err, r.done, f.again.count))
	}
	write := func(w io.Writer) error { return f.form.WallClock(profile, w, f.pid) }
	if f.output != "" {
		err = export.WriteFile(f.output, write)
	} else {
		err = write(c.OutOrStdout())
	}
	if err != nil {
		return failf("%v", err)
	}
	return nil
}

// line writes a listing as a line of JSON: groups of equal stacks unless the flags say otherwise.
func (l *listed) line(p *live.Process, w io.Writer) error {
	by := listing.Stack
	if l.flags.listing.group != "" {
		by = l.flags.by()
	}
	page, set := l.page(p, by), l.empty()
	page.Cut(l.flags.listing.limit)
	set.Groups = page
	return set.Write(w, "json")
}

// watch prints a page, and then what has changed since the last listing.
type watch struct {
	out   io.Writer
	limit int
	last  []stackjson.Stack // one of each group, with its count
}

func (w *watch) look(p *live.Process, l *listed) error {
	page := l.page(p, listing.Stack)
	now := make([]stackjson.Stack, 0, len(page.Groups))
	for _, g := range page.Groups {
		s := stackjson.FromStack(l.at.Arch(), &g.Stack, false)
		s.Count = g.Count()
		now = append(now, s)
	}
	before := w.last
	w.last = now
	if before == nil {
		set := l.empty()
		page.Cut(w.limit)
		set.Groups = page
		return set.Write(w.out, "text")
	}
	changes := listing.Compare(before, now)
	if w.limit > 0 {
		changes = changes[:min(len(changes), w.limit)]
	}
	if _, err := fmt.Fprintf(w.out, "\n%s  %s\n", time.Now().Format(time.TimeOnly), page.Head()); err != nil {
		return err
	}
	return writeChanges(w.out, changes)
}
