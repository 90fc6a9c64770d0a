package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/clewdbg/clew/internal/unwind/snapshot"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/offline"
	"github.com/clewdbg/clew/unwind"
)

// unwindFlags are the flags of clew unwind.
type unwindFlags struct {
	config     string
	strategies []string
	values     valueFlags
	root       string
	symbols    string
	workers    int
}

func unwindCommand() *cobra.Command {
	var f unwindFlags
	c := &cobra.Command{
		Use:   "unwind FILE...",
		Short: "Unwind snapshots offline.",
		Long: `Reads snapshots (one JSON object a line, as clew stack --format snapshot writes
them; - is standard input) and writes one JSON line for each, in order:
{"stacks":[...]}, or {"error":"..."} for one that cannot be unwound. Each line
is written as soon as it can be: a program can send a snapshot and read its answer at once.

A snapshot names its images by path: relative to the snapshot's folder (for -
to the current one), or absolute, then below --root. With --symbols they are found
by build ID instead, wherever the snapshot was made. Debug files are found so too: the
stack of a stripped program gets the names of the unstripped one.

With --values they have what frames hold, as far as the snapshot has the memory: write it
with clew stack --format snapshot and --values.

Where a snapshot says what is expected ("expect"), differences go to stderr and
the exit code is 1. With --symbols nothing is compared, since it finds more
names than were known then.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done but a stack is truncated.`,
		Example: "  clew unwind wrong.json\n  clew unwind --strategies fpwalk --registers -\n  clew unwind --symbols /srv/debug crash.json",
		Args:    wantArgs(1, -1, "one or more FILEs (- is standard input)"),
		RunE:    func(c *cobra.Command, args []string) error { return runUnwind(c, &f, args) },
	}
	fl := c.Flags()
	configFlag(c, &f.config)
	fl.StringSliceVar(&f.strategies, "strategies", nil, "strategies, best ranked first (default: all)")
	f.values.add(c)
	fl.StringVar(&f.root, "root", "", "folder that absolute paths of images are relative to")
	_ = c.MarkFlagDirname("root")
	symbolsFlag(c, &f.symbols, "find files of images, and their debug files, by build ID in")
	fl.IntVar(&f.workers, "workers", runtime.GOMAXPROCS(0), "how many snapshots are unwound at once, each by its own strategies; answers keep their order")
	_ = c.RegisterFlagCompletionFunc("strategies", cobra.FixedCompletions(builtinNames(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func runUnwind(c *cobra.Command, f *unwindFlags, files []string) error {
	if f.workers < 1 {
		return usageErrorf("--workers %d: there must be at least one", f.workers)
	}
	if err := f.values.check(); err != nil {
		return err
	}
	// Nearly all that is allocated is garbage when the snapshot's answer is written, and little is kept.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	errors := complaints{w: c.ErrOrStderr()}
	notify := errors.say
	ready := make(chan *unwinding, 1)
	work := func() (*unwinding, error) {
		select {
		case u := <-ready:
			return u, nil
		default:
			return newUnwinding(c.Context(), f, notify)
		}
	}
	first, err := newUnwinding(c.Context(), f, notify) // a wrong configuration is refused before anything is read
	if err != nil {
		return err
	}
	defer first.close()
	ready <- first
	results := unwound{out: c.OutOrStdout(), notify: notify, meter: newProgress("snapshots", 0)}
	p, end := newPool(c.Context(), f.workers, work, results.take)
	for _, name := range files {
		if err = p.file(name, c.InOrStdin()); err != nil {
			break
		}
	}
	if err := end(); err != nil {
		notify(err.Error())
		results.code = exitFailed
	}
	results.meter.done()
	errors.end("; each is in its line of the output")
	return exitWith(results.code)
}

// unwound takes the answers of all workers.
type unwound struct {
	out    io.Writer
	notify func(string)
	meter  *progress
	code   int
}

func (u *unwound) take(b *batch, a answers) error {
	for _, n := range a.notices {
		u.notify(n)
	}
	if u.code != exitFailed && a.code != exitDone {
		u.code = a.code
	}
	u.meter.add(len(b.lines))
	if _, err := u.out.Write(a.out); err != nil {
		return fmt.Errorf("write the answers: %w", err)
	}
	return nil
}

// unwinding is one worker of a run over files of snapshots.
type unwinding struct {
	flags  *unwindFlags
	engine *engine.Engine
	opener *offline.Opener
	close  func()
	// Of the batch that is being unwound.
	notices []string
	code    int
}

func newUnwinding(ctx context.Context, f *unwindFlags, notify func(string)) (*unwinding, error) {
	strats, err := openStrategies(f.config, f.strategies, notify)
	if err != nil {
		return nil, err
	}
	u := &unwinding{flags: f, engine: engine.New(strats.order), opener: &offline.Opener{Root: f.root}, close: strats.close}
	u.opener.FindDebugFiles(strats.debugFolders)
	store, err := openSymbols(ctx, f.symbols)
	if err != nil {
		u.close()
		return nil, failf("--symbols: %w", err)
	}
	if store != nil {
		u.opener.FindFiles(store)
	}
	return u, nil
}

// one unwinds one snapshot.
func (u *unwinding) one(ctx context.Context, s *snapshot.Snapshot, dir, where string) stackjson.Answer {
	in, threads, err := u.opener.Open(s, dir)
	if err != nil {
		u.fail("%s: %v", where, err)
		return stackjson.Failure(err)
	}
	prepared := u.engine.Prepare(ctx, in)
	stacks := make([]unwind.Stack, 0, len(threads))
	for i := range threads {
		stack := prepared.Stack(ctx, &threads[i], assembler.Options{AllRegisters: u.flags.values.wanted()})
		if stack.Stop == unwind.Truncated && u.code == exitDone {
			u.code = exitTruncated
		}
		stacks = append(stacks, stack)
	}
	answer := stackjson.FromStacks(s.Arch, stacks, u.flags.values.registers)
	if u.flags.values.wanted() {
		addValues(&u.flags.values, in, stacks, &answer)
	}
	if s.Expect != nil && u.flags.symbols == "" {
		u.compare(*s.Expect, answer, where)
	}
	return answer
}

func (u *unwinding) compare(expect stackjson.Expectation, got stackjson.Answer, where string) {
	differences, err := stackjson.Match(expect, got)
	if err != nil {
		u.fail("%s: expect: %v", where, err)
	}
	for _, d := range differences {
		u.fail("%s: not as expected: %s", where, d)
	}
}

// addValues adds what frames hold to an answer.
func addValues(f *valueFlags, in *engine.Input, stacks []unwind.Stack, answer *stackjson.Answer) {
	r := newReader(f, in.Target.Memory)
	for i := range stacks {
		frames, ok := offline.Values(in, &stacks[i], &r)
		if !ok {
			return
		}
		of := r.Of(&stacks[i], frames, func(f *unwind.Frame) bool { return in.Hosted.Contains(uint64(f.PC.Lookup(in.Target.Arch))) })
		for k := range of {
			answer.Stacks[i].Frames[k].Values = of[k]
		}
	}
}
