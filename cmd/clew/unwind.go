package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

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
	registers  bool
	root       string
	symbols    string
}

func unwindCommand() *cobra.Command {
	var f unwindFlags
	c := &cobra.Command{
		Use:   "unwind FILE...",
		Short: "Unwind snapshots offline.",
		Long: `Reads snapshots (one JSON object a line, as clew stack --format snapshot writes
them; - is standard input) and writes one JSON line for each, in order:
{"stacks":[...]}, or {"error":"..."} for one that cannot be unwound.

A snapshot names its images by path: relative to the snapshot's folder (for -
to the current one), or absolute, then below --root. With --symbols they are found
by build ID instead, wherever the snapshot was made. Debug files are found so too: the
stack of a stripped program gets the names of the unstripped one.

Where a snapshot says what is expected ("expect"), differences go to stderr and
the exit code is 1. With --symbols nothing is compared: it shows more than was known
then.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done but a stack is truncated.`,
		Example: "  clew unwind wrong.json\n  clew unwind --strategies fpwalk --registers -\n  clew unwind --symbols /srv/debug crash.json",
		Args:    wantArgs(1, -1, "one or more FILEs (- is standard input)"),
		RunE:    func(c *cobra.Command, args []string) error { return runUnwind(c, &f, args) },
	}
	fl := c.Flags()
	configFlag(c, &f.config)
	fl.StringSliceVar(&f.strategies, "strategies", nil, "strategies, best ranked first (default: all)")
	fl.BoolVar(&f.registers, "registers", false, "add every recovered register to each frame")
	fl.StringVar(&f.root, "root", "", "folder that absolute paths of images lie below")
	_ = c.MarkFlagDirname("root")
	symbolsFlag(c, &f.symbols, "find files of images, and their debug files, by build ID in")
	_ = c.RegisterFlagCompletionFunc("strategies", cobra.FixedCompletions(builtinNames(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func runUnwind(c *cobra.Command, f *unwindFlags, files []string) error {
	notify := func(s string) { tell(c.ErrOrStderr(), "%s", s) }
	strats, err := openStrategies(f.config, f.strategies, notify)
	if err != nil {
		return err
	}
	defer strats.close()
	u := &unwinding{
		flags: f, engine: engine.New(strats.order), out: bufio.NewWriter(c.OutOrStdout()), notify: notify,
		meter: newProgress("snapshots", 0), opener: &offline.Opener{Root: f.root},
	}
	u.opener.FindDebugFiles(strats.debugFolders)
	store, err := openSymbols(c.Context(), f.symbols)
	if err != nil {
		return failf("--symbols: %w", err)
	}
	if store != nil {
		u.opener.FindFiles(store)
	}
	for _, name := range files {
		if err := u.file(c.Context(), name, c.InOrStdin()); err != nil {
			u.notify(err.Error())
			u.code = exitFailed
		}
	}
	u.meter.done()
	if err := u.out.Flush(); err != nil {
		return failf("write the answers: %v", err)
	}
	return exitWith(u.code)
}

// unwinding is one run over files of snapshots.
type unwinding struct {
	flags  *unwindFlags
	engine *engine.Engine
	opener *offline.Opener
	out    *bufio.Writer
	notify func(string)
	meter  *progress
	code   int
}

func (u *unwinding) file(ctx context.Context, name string, stdin io.Reader) error {
	in, dir := stdin, "."
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("read snapshots: %w", err)
		}
		defer file.Close()
		in, dir = file, filepath.Dir(name)
	}
	reader := snapshot.NewReader(in, snapshot.Options{})
	for s, err := range reader.All() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		where := fmt.Sprintf("%s line %d", name, reader.Line())
		var answer stackjson.Answer
		if err == nil {
			answer = u.one(ctx, s, dir, where)
		} else {
			answer = stackjson.Failure(err)
			u.notify(fmt.Sprintf("%s: %v", name, err))
			u.code = exitFailed
		}
		line, err := stackjson.Marshal(answer)
		if err != nil {
			return err
		}
		if _, err := u.out.Write(append(line, '\n')); err != nil {
			return fmt.Errorf("write the answers: %w", err)
		}
		u.meter.add(1)
	}
	return nil
}

// one unwinds one snapshot.
func (u *unwinding) one(ctx context.Context, s *snapshot.Snapshot, dir, where string) stackjson.Answer {
	in, threads, err := u.opener.Open(s, dir)
	if err != nil {
		u.notify(fmt.Sprintf("%s: %v", where, err))
		u.code = exitFailed
		return stackjson.Failure(err)
	}
	prepared := u.engine.Prepare(ctx, in)
	stacks := make([]unwind.Stack, 0, len(threads))
	for i := range threads {
		stack := prepared.Stack(ctx, &threads[i], assembler.Options{AllRegisters: u.flags.registers})
		if stack.Stop == unwind.Truncated && u.code == exitDone {
			u.code = exitTruncated
		}
		stacks = append(stacks, stack)
	}
	answer := stackjson.FromStacks(s.Arch, stacks, u.flags.registers)
	if s.Expect != nil && u.flags.symbols == "" {
		u.compare(*s.Expect, answer, where)
	}
	return answer
}

func (u *unwinding) compare(expect stackjson.Expectation, got stackjson.Answer, where string) {
	differences, err := stackjson.Match(expect, got)
	if err != nil {
		u.notify(fmt.Sprintf("%s: expect: %v", where, err))
		u.code = exitFailed
	}
	for _, d := range differences {
		u.notify(fmt.Sprintf("%s: not as expected: %s", where, d))
		u.code = exitFailed
	}
}
