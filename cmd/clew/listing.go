package main

import (
	"context"
	"errors"
	"iter"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdbg/clew/internal/unwind/snapshot"
	"github.com/clewdbg/clew/server/cause"
	"github.com/clewdbg/clew/server/delve/executable"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/server/glance"
	"github.com/clewdbg/clew/server/listing"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/unwind"
)

// listingFlags are those of clew stack that are about many stacks.
type listingFlags struct {
	group         string
	with, without []string
	sort          string
	limit         int
	own           []string
	oneFileEach   bool
	ancestors     bool
}

func (f *listingFlags) add(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&f.group, "group", "", "group stacks by `what`: "+ways()+" (default stack for "+export.FormatsThat(func(f *export.Format) bool { return f.Grouped })+", none for other formats)")
	fl.StringArrayVar(&f.with, "with", nil, "list only stacks that match this `filter`: "+listing.Filters+"; may be given more than once")
	fl.StringArrayVar(&f.without, "without", nil, "leave out stacks that match this `filter`")
	fl.StringVar(&f.sort, "sort", "", "`order` of groups and stacks: "+strings.Join(listing.Orders, ", ")+" (default suspicion for grouped text)")
	fl.StringArrayVar(&f.own, "own", nil, "count as your own code, beside the main module's: a package (and those below it), the beginning of a function's name, or an image's name, with *; may be given more than once")
	fl.IntVar(&f.limit, "limit", 0, "list at most this many groups or stacks (0: all)")
	fl.BoolVar(&f.oneFileEach, "one-file-each", false, "cbf: write a file for each stack, however many there are")
	fl.BoolVar(&f.ancestors, "ancestors", false, "cbf and swift: add the calls that led to each goroutine as async frames, where the runtime keeps them (GODEBUG=tracebackancestors=N)")
	_ = c.RegisterFlagCompletionFunc("group", cobra.FixedCompletions(strings.Split(ways(), ", "), cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("sort", cobra.FixedCompletions(listing.Orders, cobra.ShellCompDirectiveNoFileComp))
}

func ways() string {
	var out []string
	for _, by := range listing.Ways {
		out = append(out, string(by))
	}
	return strings.Join(out, ", ")
}

// check refuses values that are not known, and flags that one stack has no use for.
func (f *listingFlags) check(c *cobra.Command, many bool) error {
	if !many {
		for _, name := range []string{"group", "with", "without", "sort", "limit", "own", "one-file-each"} {
			if c.Flags().Changed(name) {
				return usageErrorf("--%s is for many stacks: --goroutine all or --thread all", name)
			}
		}
		return nil
	}
	if f.group != "" && !slices.Contains(listing.Ways, listing.By(f.group)) {
		return unknown("group", f.group, strings.Split(ways(), ", "))
	}
	if f.sort != "" && !slices.Contains(listing.Orders, f.sort) {
		return unknown("order", f.sort, listing.Orders)
	}
	for _, p := range f.own {
		if err := listing.CheckPattern(p); err != nil || p == "" {
			return usageErrorf("--own %q is no pattern", p)
		}
	}
	if f.limit < 0 {
		return usageErrorf("--limit %d is negative", f.limit)
	}
	return nil
}

// checkFilters refuses filters that are not known.
func (f *listingFlags) checkFilters(c *cobra.Command) error {
	for _, text := range slices.Concat(f.with, f.without) {
		if _, err := listing.ParseFilter(text); err != nil {
			return usageErrorf("%v; see %s --help", err, c.CommandPath())
		}
	}
	return nil
}

// by is how stacks are put together.
func (f *stackFlags) by() listing.By {
	switch {
	case f.listing.group != "":
		return listing.By(f.listing.group)
	case f.form.Grouped && !f.values.wanted():
		return listing.Stack
	}
	return listing.None
}

// wants says whether the filters let a stack pass.
func (f *listingFlags) wants() listing.Filter {
	var with, without []listing.Filter
	for _, text := range f.with {
		filter, _ := listing.ParseFilter(text) // see check
		with = append(with, filter)
	}
	for _, text := range f.without {
		filter, _ := listing.ParseFilter(text)
		without = append(without, filter)
	}
	return func(s *unwind.Stack) bool {
		has := func(filter listing.Filter) bool { return filter(s) }
		return !slices.ContainsFunc(with, func(filter listing.Filter) bool { return !has(filter) }) && !slices.ContainsFunc(without, has)
	}
}

// many says whether many stacks are asked for.
func (f *stackFlags) many(c *cobra.Command) bool {
	return f.goroutine == "all" || f.thread == "all" || !f.named(c) && (f.pid != 0 || f.core != "")
}

// named says whether the flags name stacks.
func (f *stackFlags) named(c *cobra.Command) bool {
	return c.Flags().Changed("goroutine") || f.thread != ""
}

// listRunning lists a running process in one short stop. done is false where that is
// not asked for or cannot be had: then a debugger has to hold it.
func (f *stackFlags) listRunning(c *cobra.Command, strats *strategies, notify func(string)) (done bool, err error) {
	if f.pid == 0 || !f.many(c) || f.form.Memory {
		return false, nil
	}
	if err := executable.CheckAttachable(f.pid); err != nil {
		return true, failf("%v", err)
	}
	if err := glance.Allowed(f.pid); err != nil {
		return true, failf("%v", executable.ExplainAttach(f.pid, err))
	}
	program, process, err := f.openGlance(strats)
	if err != nil {
		return false, nil
	}
	err = f.list(c, process, engine.New(strats.order), program)
	if refused, ok := errors.AsType[*glance.UnknownError](err); ok {
		if c.Flags().Changed("max-pause") {
			return true, failf("%v; a debugger could hold the process instead, for as long as it takes: leave out --max-pause", refused)
		}
		notify(refused.Error() + "; a debugger holds the process instead, for as long as it takes")
		return false, nil
	}
	return true, err
}

// listingMemory is what is collected to, beside the copies of stacks: a listing of a million goroutines takes less than 1 GiB in all.
const listingMemory = 400 << 20

// openGlance opens a process that is stopped for moments only.
func (f *stackFlags) openGlance(strats *strategies) (*glance.Program, *live.Process, error) {
	debug.SetMemoryLimit(listingMemory)
	program, err := glance.Open(f.pid)
	if err != nil {
		return nil, nil, err
	}
	program.MaxPause(f.pause.max)
	program.OnlyThreads(f.onlyThreads())
	process := live.New(program, live.Here(program))
	process.FindDebugFiles(strats.debugFolders)
	return program, process, nil
}

// list writes many stacks, each as it is found where the format allows that. glanced is
// the process where it is stopped only for a moment, else nil.
func (f *stackFlags) list(c *cobra.Command, process *live.Process, e *engine.Engine, glanced *glance.Program) error {
	ctx := c.Context()
	if glanced != nil && f.values.wanted() {
		glanced.Hold()
		defer glanced.Release()
	}
	l, err := f.look(ctx, process, e, glanced)
	if err != nil {
		return failf("%w", err)
	}
	if f.values.wanted() {
		for part := range l.rest() {
			l.threads = append(l.threads, part...)
		}
		l.withValues(glanced)
		l.values.tell(func(s string) { tell(c.ErrOrStderr(), "%s", s) })
	}
	if f.connect != "" { // others may let the program run meanwhile: nothing is written before that is known
		if err := l.hold(); err != nil {
			return failf("%v", err)
		}
	}
	set, err := l.set(process)
	if err != nil {
		return failf("%v", err)
	}
	if f.format == "text" && set.Groups == nil && !f.named(c) { // else as an editor writes them
		set.Head = l.head(process)
	}
	if f.output != "" {
		err = set.WritePath(f.output, f.format)
	} else {
		err = set.Write(c.OutOrStdout(), f.format)
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil {
		return failf("%v", err)
	}
	l.tellUnwanted(c.ErrOrStderr())
	l.tellCorrupt(c.ErrOrStderr())
	complete := tellLeft(c.ErrOrStderr(), f.pid, &l.left, l.roundErr)
	if l.truncated || !complete || l.unlisted != nil || len(l.corrupt) > 0 {
		return exitWith(exitTruncated)
	}
	return nil
}

// look stops the process, and returns what stands still to be listed.
func (f *stackFlags) look(ctx context.Context, process *live.Process, e *engine.Engine, glanced *glance.Program) (*listed, error) {
	at, err := stop.At(ctx, process, process.Debugger(), f.form.Memory)
	if err != nil {
		return nil, err
	}
	prepared, err := at.Prepare(ctx, e) // before the process is stopped, where that is for a moment
	if err != nil {
		return nil, err
	}
	threads, unlisted, err := f.listed(at)
	if err != nil {
		return nil, err
	}
	l := &listed{flags: f, ctx: ctx, at: at, prepared: prepared, threads: threads, unlisted: unlisted, glanced: glanced, process: process, engine: e, rounds: 1, started: time.Now()}
	if d := f.death(ctx, at, prepared); d != nil {
		if threads, ok := first(&d.Thread, threads); ok {
			l.threads, l.died = threads, d
		}
	}
	if glanced != nil {
		l.paused, l.left = glanced.Paused(), glanced.Left()
	}
	if v, ok := at.View.(interface{ Corrupt() []error }); ok {
		l.corrupt = v.Corrupt()
	}
	return l, nil
}

// onlyThreads says that goroutines are not asked for.
func (f *stackFlags) onlyThreads() bool { return f.thread == "all" && f.goroutine != "all" }

// listed returns the threads and goroutines that the flags name: goroutines, then
// threads without one. Where the goroutines are not known these are all threads, and unlisted says why.
func (f *stackFlags) listed(at *stop.Stopped) (out []reading.Thread, unlisted, err error) {
	if f.onlyThreads() {
		out, err = at.Threads()
		return out, nil, err
	}
	out, unlisted = at.Goroutines()
	if f.goroutine == "all" && f.thread == "" {
		return out, nil, unlisted
	}
	threads, err := at.Threads()
	if err != nil {
		return nil, nil, err
	}
	out = slices.Clone(out)
	for i := range threads {
		if unlisted != nil || threads[i].Goroutine == 0 {
			out = append(out, threads[i])
		}
	}
	return out, unlisted, nil
}

// listed is the stacks of a listing.
type listed struct {
	flags     *stackFlags
	ctx       context.Context
	at        *stop.Stopped
	prepared  *engine.Prepared
	threads   []reading.Thread
	held      []unwind.Stack  // nil where they are assembled when they are written
	truncated bool            // a stack is
	corrupt   []error         // goroutines that could not be read
	unlisted  error           // why the goroutines are not known, nil if they are
	unwanted  listing.Summary // stacks that the filters have left out
	matched   bool            // they have let one pass
	values    *held           // nil for none
	died      *cause.Death    // what ended the program: the first thread is the one that died. nil for none
	paused    time.Duration   // how long the process stood still, 0 where a debugger holds it

	// Where the process is stopped for a moment, else zero:
	glanced  *glance.Program
	process  *live.Process
	engine   *engine.Engine
	rounds   int
	started  time.Time   // the first stop
	left     glance.Left // at the last stop
	roundErr error       // why there was no further round
}

// hold assembles all stacks, and finds out whether the program has stood still.
func (l *listed) hold() error {
	l.held = slices.Collect(l.each())
	return l.at.Still()
}

// withValues assembles all stacks with their values, those of threads first: a process that stands still for them goes on when
// they are read. What others hold is read from what was copied.
func (l *listed) withValues(glanced *glance.Program) {
	l.values = newHeld(&l.flags.values, l.at.EngineInput().Target.Memory)
	threads := l.threads
	found := make(map[int]unwind.Stack)
	part := func(want func(*reading.Thread) bool) {
		var some []reading.Thread
		var index []int
		for i := range threads {
			if want(&threads[i]) {
				some, index = append(some, threads[i]), append(index, i)
			}
		}
		l.threads = some
		n := 0
		for s := range l.assembled() {
			found[index[n]] = s
			l.values.read(l.at, &some[n], &s)
			n++
		}
	}
	part(func(th *reading.Thread) bool { return th.ID != 0 })
	if glanced != nil {
		glanced.Release()
		l.paused = glanced.Paused()
	}
	part(func(th *reading.Thread) bool { return th.ID == 0 })
	l.threads = threads
	all := make([]unwind.Stack, 0, len(found))
	for i := range threads {
		if s, ok := found[i]; ok {
			all = append(all, s)
		}
	}
	l.held = slices.Collect(l.wanted(slices.Values(all)))
}

// each yields the stacks that the filters let pass, as they are assembled.
func (l *listed) each() iter.Seq[unwind.Stack] {
	if l.held != nil {
		return slices.Values(l.held)
	}
	return l.wanted(l.assembled())
}

// assembled yields all stacks, as they are assembled.
func (l *listed) assembled() iter.Seq[unwind.Stack] {
	return func(yield func(unwind.Stack) bool) {
		meter := newProgress("stacks", max(len(l.threads), int(l.left.Of)))
		defer meter.done()
		more := true
		one := func(s unwind.Stack) bool {
			more = yield(s)
			return more
		}
		l.part(l.threads, meter, one)
		if l.values != nil || !more {
			return
		}
		for part := range l.rest() {
			if l.part(part, meter, one); !more {
				return
			}
		}
	}
}

// part yields the stacks of some threads.
func (l *listed) part(threads []reading.Thread, meter *progress, yield func(unwind.Stack) bool) {
	opts := stop.AllOptions{Depth: l.flags.depth, Done: func() { meter.add(1) }, Share: l.shares(), AllRegisters: l.values != nil}
	for s := range l.at.Each(l.ctx, l.prepared, threads, opts) {
		if s.Thread != 0 {
			s.Notes = append(s.Notes, l.asleep(s.Thread)...)
		}
		if !yield(s) {
			return
		}
	}
}

// wanted yields the stacks that the filters let pass.
func (l *listed) wanted(stacks iter.Seq[unwind.Stack]) iter.Seq[unwind.Stack] {
	wants := l.flags.listing.wants()
	return func(yield func(unwind.Stack) bool) {
		for s := range stacks {
			if crashOf(l.died, &s) == nil && !wants(&s) {
				l.unwanted.Add(&s)
				continue
			}
			l.matched = true
			l.truncated = l.truncated || s.Stop == unwind.Truncated
			if !yield(s) {
				return
			}
		}
	}
}

// shares says whether stacks that are alike may share their frames: what is written has
// no more of them than addresses of code and names.
func (l *listed) shares() bool {
	form := l.flags.form
	return l.values == nil && (form.Bare || form.BareInGroups && l.flags.by() != listing.None)
}

// set is the stacks with everything to write them.
func (l *listed) set(process *live.Process) (*export.Set, error) {
	f, set := l.flags, l.empty()
	set.Stacks = l.each()
	by, order := f.by(), f.listing.sort
	if by == listing.None && order == "" && !f.form.Memory {
		if f.listing.limit > 0 {
			set.Stacks = atMost(l.each(), f.listing.limit)
		}
		return set, nil
	}
	page := l.page(process, by)
	page.Cut(f.listing.limit)
	if by != listing.None {
		set.Groups = page
	}
	set.Stacks = page.Stacks()
	set.Snapshot = func() (*snapshot.Snapshot, error) {
		stacks := slices.Collect(set.Stacks)
		return l.at.Snapshot(threadsOf(stacks, l.threads), stacks)
	}
	return set, nil
}

// empty is a set without stacks.
func (l *listed) empty() *export.Set {
	f := l.flags
	set := &export.Set{Arch: l.at.Arch(), Images: l.at.Images(), Pid: f.pid, Names: f.names, All: true, OneFileEach: f.listing.oneFileEach, Evidence: f.evidence, Ancestors: f.listing.ancestors}
	l.values.add(set)
	if l.died != nil {
		set.Crash = l.died.Crash
	}
	if l.glanced != nil {
		set.About = l.about
	}
	for i := range l.threads {
		if len(l.threads[i].Segments) > 1 { // else there is no change of stacks to name
			set.Threads = append(set.Threads, l.threads[i].Thread)
		}
	}
	return set
}

// page is the stacks in groups and in order.
func (l *listed) page(process *live.Process, by listing.By) *export.Page {
	f := l.flags
	order := f.listing.sort
	if order == "" && f.format == "text" {
		order = "suspicion"
	}
	page := &export.Page{Title: process.Name(), Summary: &listing.Summary{Ours: l.ours()}}
	groups := listing.NewGroups(by)
	own := listing.NewGroups(listing.None) // of the stack that died
	groups.Ours = page.Summary.Ours
	for s := range l.each() {
		page.Summary.Add(&s)
		if page.Crash == nil && crashOf(l.died, &s) != nil {
			page.Crash = l.died.Crash
			own.Add(&s)
			continue
		}
		groups.Add(&s)
	}
	page.Scheduler, page.Paused = l.scheduler(), l.paused
	page.Groups = append(own.Sorted(""), groups.Sorted(order)...)
	return page
}

// head is the first line of a listing that is written as it is found: what the process has.
func (l *listed) head(process *live.Process) string {
	page := &export.Page{Title: process.Name(), Paused: l.paused, Summary: new(listing.Summary), Scheduler: l.scheduler()}
	for i := range l.threads {
		if l.threads[i].Goroutine != 0 {
			page.Summary.Goroutines++
		}
		if l.threads[i].ID != 0 {
			page.Summary.Threads++
		}
	}
	if l.glanced != nil {
		page.Summary.Goroutines = max(page.Summary.Goroutines, l.glanced.Count())
	}
	return page.Head()
}

// threadsOf returns the threads that the stacks are of.
func threadsOf(stacks []unwind.Stack, threads []reading.Thread) (out []unwind.Thread) {
	byID := make(map[[2]uint64]int, len(threads))
	for i := range threads {
		byID[[2]uint64{threads[i].Goroutine, threads[i].ID}] = i
	}
	for i := range stacks {
		if n, ok := byID[[2]uint64{stacks[i].Goroutine, stacks[i].Thread}]; ok {
			out = append(out, threads[n].Thread)
		}
	}
	return out
}

func atMost(stacks iter.Seq[unwind.Stack], n int) iter.Seq[unwind.Stack] {
	return func(yield func(unwind.Stack) bool) {
		left := n
		for s := range stacks {
			if left--; !yield(s) || left == 0 {
				return
			}
		}
	}
}
