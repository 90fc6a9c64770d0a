package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/clewdbg/clew/server/corefile"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/interpose"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/server/lifeline"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/server/stop"
)

// stackFlags are the flags of clew stack.
type stackFlags struct {
	config     string
	pid        int
	connect    string
	core       string
	died       corefile.Died // of the core file
	launched   int           // the ID of a program that clew runs, 0 for none
	sysroot    string
	breakAt    []string
	goroutine  string
	thread     string
	depth      int
	strategies []string
	format     string
	form       *export.Format // the format's; see check
	names      names.Style
	output     string
	listing    listingFlags
	again      againFlags
	values     valueFlags
	pause      pauseFlags
	evidence   bool

	ownConfigured []string // what the configuration counts as the user's own
	executable    string   // that a core file is of
}

func stackCommand() *cobra.Command {
	var f stackFlags
	c := &cobra.Command{
		Use:   "stack {--pid N | --core CORE [EXE] | --connect ADDR | [--break LOC] -- EXE ARGS...}",
		Short: "Print assembled stacks of a program.",
		Long: `Prints the stack of a Go program, through C code and back, and says for every
frame how it was found and how far to trust it.

Of a running process and of a core file it lists every goroutine and thread, unless
--goroutine or --thread names one. A summary comes first, then the stacks: equal ones
are grouped (--group), the most suspicious come first (--sort).

Targets:
  --pid N          a running process. It is stopped for a moment and goes on afterwards
  --core CORE EXE  a core file, and the executable that wrote it (without EXE: where the
                   process had it). It may be compressed (.zst, .lz4, .xz). Libraries are looked for where the process had
                   them, below --sysroot, and then on debuginfod servers
  --connect ADDR   the program that a headless Delve server debugs. It must be stopped,
                   and stays stopped
  -- EXE ARGS...   a program, which runs until it stops by itself (a breakpoint
                   instruction, runtime.Breakpoint, a panic or fatal signal) or at a
                   location (--break FUNCTION, FILE:LINE or *ADDRESS; also in a library
                   that is loaded later). Its output goes to stderr

Formats:
` + export.FormatHelp() + `
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done but a stack is truncated.`,
		Example: `  clew stack -- ./server -config x.yml
  clew stack --break my_c_function --values all -- ./server
  clew stack --break my_c_function --format json -- ./server
  clew stack --pid 4711
  clew stack --pid 4711 --without "curloc runtime." --group created-by
  clew stack --pid 4711 --goroutine all --format json
  clew stack --pid 4711 --watch 1s
  clew stack --pid 4711 --count 3000 --interval 10ms --format pprof -o wall.pb.gz
  clew stack --core core.4711 ./server
  clew stack --core core.server.zst --sysroot /srv/root-of-web1 ./server
  clew stack --connect 127.0.0.1:4711 --goroutine all`,
		RunE: func(c *cobra.Command, args []string) error {
			defer endDownloads(c.Context())
			return runStack(c, &f, args)
		},
	}
	fl := c.Flags()
	configFlag(c, &f.config)
	fl.IntVar(&f.pid, "pid", 0, "show the stacks of this running process")
	fl.StringVar(&f.core, "core", "", "show the stacks in this core file")
	fl.StringVar(&f.sysroot, "sysroot", "", "look for the libraries of a core file below this `folder`, a copy of the other machine's root")
	_ = c.MarkFlagDirname("sysroot")
	fl.StringVar(&f.connect, "connect", "", "connect to this headless Delve server (host:port, or unix:PATH)")
	fl.StringArrayVar(&f.breakAt, "break", nil, "run to this `location`: FUNCTION, FILE:LINE or *ADDRESS; may be given more than once")
	fl.StringVar(&f.goroutine, "goroutine", "current", "current, all, or a goroutine's ID; --pid and --core list all without it")
	fl.StringVar(&f.thread, "thread", "", "all, or a thread's ID (instead of goroutines)")
	fl.IntVar(&f.depth, "depth", 0, "most frames a stack may have (0: no limit)")
	fl.StringSliceVar(&f.strategies, "strategies", nil, "strategies, best ranked first (default: all)")
	fl.StringVar(&f.format, "format", "text", export.FormatsThat(func(*export.Format) bool { return true }))
	namesFlag(c, &f.names)
	fl.StringVarP(&f.output, "output", "o", "", "write to this file (cbf of several stacks: a folder)")
	fl.BoolVar(&f.evidence, "evidence", false, "text: show the candidates that were not believed for stacks that are right, too")
	f.listing.add(c)
	f.again.add(c)
	f.values.add(c)
	f.pause.add(c)
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(export.FormatNames(), cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("strategies", cobra.FixedCompletions(builtinNames(), cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("pid", completeProcess)
	_ = c.RegisterFlagCompletionFunc("core", completeCore)
	_ = c.RegisterFlagCompletionFunc("goroutine", f.completeGoroutine)
	_ = c.RegisterFlagCompletionFunc("thread", f.completeThread)
	return c
}

// refusal is a fault of the flags, and whether they have it.
type refusal struct {
	when bool
	why  string
}

// check refuses flags that contradict each other.
func (f *stackFlags) check(c *cobra.Command, args []string) error {
	if err := f.listing.checkFilters(c); err != nil { // a text without quotes looks like a program
		return err
	}
	form, err := export.FormatNamed(f.format)
	if err != nil {
		return unknown("format", f.format, export.FormatNames())
	}
	f.form = form
	for _, r := range slices.Concat(f.targets(c, args), f.outputs(c)) {
		if r.when {
			return usageErrorf("%s", r.why)
		}
	}
	if err := errors.Join(f.listing.check(c, f.many(c)), f.checkAgain(c), f.checkValues(), f.checkPause(c)); err != nil {
		return err
	}
	for name, value := range map[string]string{"goroutine": f.goroutine, "thread": f.thread} {
		if _, err := strconv.ParseUint(value, 10, 64); err != nil && value != "" && value != "all" && (value != "current" || name == "thread") {
			return usageErrorf("--%s %q is neither an ID nor all", name, value)
		}
	}
	return nil
}

// targets lists the faults of the flags that name the program.
func (f *stackFlags) targets(c *cobra.Command, args []string) []refusal {
	pid, connect, core, breaks, program := f.pid != 0, f.connect != "", f.core != "", len(f.breakAt) > 0, len(args) > 0
	return []refusal{
		{core && (pid || breaks), "--core excludes --pid and --break"},
		{f.sysroot != "" && !core, "--sysroot is for --core"},
		{core && len(args) > 1, "--core CORE takes one executable: clew stack --core " + f.core + " EXE"},
		{connect && (pid || breaks || core || program), "--connect excludes --pid, --core, --break and a program"},
		{!connect && !program && !core && !c.Flags().Changed("pid"), "clew stack needs --pid N, --core CORE EXE, --connect ADDR, or -- EXE ARGS...; see clew stack --help"},
		{pid && program, "clew stack takes --pid or a program to run, not both"},
		{pid && breaks, "--break is for a program that clew runs, not for --pid"},
	}
}

// outputs lists the faults of the flags that name stacks and their form.
func (f *stackFlags) outputs(c *cobra.Command) []refusal {
	return []refusal{
		{f.depth < 0, fmt.Sprintf("--depth %d is negative", f.depth)},
		{f.thread != "" && c.Flags().Changed("goroutine") && (f.thread != "all" || f.goroutine != "all"), "use --thread or --goroutine, not both, unless both are all"},
		{f.form.Several() && f.output == "", fmt.Sprintf("--format %s needs -o PATH: it writes PATH and its image map beside it", f.format)},
		{f.form.Binary && f.output == "" && export.Terminal(c.OutOrStdout()), "--format " + f.format + " is binary: write it to a file with -o FILE, or into a pipe"},
	}
}

func runStack(c *cobra.Command, f *stackFlags, args []string) (err error) {
	if err := f.check(c, args); err != nil {
		return err
	}
	notify := func(s string) { tell(c.ErrOrStderr(), "%s", s) }
	strats, err := openStrategies(f.config, f.strategies, notify)
	if err != nil {
		return err
	}
	defer strats.close()
	f.ownConfigured = strats.own
	if f.again.wanted() {
		return f.listAgain(c, strats, notify)
	}
	if done, err := f.listRunning(c, strats, notify); done {
		return err
	}
	process, done, err := openTarget(c.Context(), f, args, strats.debugFolders, notify)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := done(); err == nil && cerr != nil {
			err = failf("leave the process: %v", cerr)
		}
	}()
	if f.many(c) {
		return f.list(c, process, engine.New(strats.order), nil)
	}
	result, err := f.assembleStill(c.Context(), process, engine.New(strats.order))
	if err != nil {
		return err
	}
	result.names, result.evidence = f.names, f.evidence
	result.held.tell(notify)
	if err := result.write(c.OutOrStdout(), f.form, f.output); err != nil {
		return failf("%v", err)
	}
	return exitWith(result.exitCode())
}

// attempts is how often stacks are assembled if other clients resume the program
// meanwhile.
const attempts = 3

// assembleStill assembles the stacks that the flags name, again if the program has
// moved meanwhile.
func (f *stackFlags) assembleStill(ctx context.Context, process *live.Process, e *engine.Engine) (*stackResult, error) {
	for n := 1; ; n++ {
		result, err := f.assembleOnce(ctx, process, e)
		if err != nil {
			return nil, err
		}
		err = result.at.Still()
		if err == nil {
			return result, nil
		}
		if n == attempts || !errors.Is(err, live.ErrMoved) {
			return nil, failf("%v", err)
		}
	}
}

func (f *stackFlags) assembleOnce(ctx context.Context, process *live.Process, e *engine.Engine) (*stackResult, error) {
	at, err := stop.At(ctx, process, process.Debugger(), f.form.Memory)
	if err != nil {
		return nil, failf("%v", err)
	}
	threads, err := f.selectThreads(at)
	if err != nil {
		return nil, err
	}
	var values *held
	if f.values.wanted() {
		values = newHeld(&f.values, at.EngineInput().Target.Memory)
	}
	result := assemble(ctx, e, at, threads, f.depth, f.form.Addresses != nil && len(threads) == 1, values)
	if prepared, err := at.Prepare(ctx, e); err == nil && len(result.stacks) == 1 {
		result.crash = crashOf(f.death(ctx, at, prepared), &result.stacks[0])
	}
	if err := context.Cause(ctx); err != nil {
		return nil, failf("%v", err)
	}
	return result, nil
}

// openTarget opens a core file, attaches, or launches and runs to the stop. done
// leaves the process: it is killed if we launched it, and goes on if not.
func openTarget(ctx context.Context, f *stackFlags, args, debugFolders []string, notify func(string)) (*live.Process, func() error, error) {
	if f.core != "" {
		return f.openCore(ctx, strings.Join(args, ""), debugFolders, notify)
	}
	if f.connect != "" {
		return openRemote(ctx, f.connect, debugFolders, notify)
	}
	guard := lifeline.NewGuard(lifeline.Start, nil)
	interpose.UseGuard(guard)
	var s *delve.Session
	var err error
	if len(args) == 0 {
		s, err = delve.Attach(f.pid)
	} else {
		s, err = launch(args)
	}
	if err != nil {
		guard.Release()
		return nil, nil, failf("%v", err)
	}
	done := func() error {
		err := s.Close()
		guard.Release()
		return err
	}
	process := live.NewProcess(s)
	process.FindDebugFiles(debugFolders)
	if len(args) > 0 {
		f.launched = s.Pid()
		if _, err := process.RunTo(ctx, notify, f.breakAt...); err != nil {
			_ = done()
			return nil, nil, failf("%v", err)
		}
	}
	return process, done, nil
}

// launch starts a program.
func launch(args []string) (*delve.Session, error) {
	// The program must not write into our own output; Delve closes the file.
	fd, err := syscall.Dup(int(os.Stderr.Fd()))
	if err != nil {
		return nil, fmt.Errorf("duplicate stderr: %w", err)
	}
	syscall.CloseOnExec(fd)
	return delve.Launch(delve.LaunchConfig{Args: args, Stdout: os.NewFile(uintptr(fd), "stderr")})
}

// selectThreads returns the threads or goroutines that the flags name.
func (f *stackFlags) selectThreads(at *stop.Stopped) ([]reading.Thread, error) {
	which, what, list, id := f.goroutine, "goroutine", at.Goroutines, func(t reading.Thread) uint64 { return t.Goroutine }
	switch {
	case f.thread != "":
		which, what, list, id = f.thread, "thread", at.Threads, func(t reading.Thread) uint64 { return t.ID }
	case which == "current":
		list = func() ([]reading.Thread, error) {
			th, err := at.Current()
			return []reading.Thread{th}, err
		}
	}
	all, err := list()
	if err != nil || which == "all" || which == "current" {
		return all, err
	}
	if i := slices.IndexFunc(all, func(th reading.Thread) bool { return strconv.FormatUint(id(th), 10) == which }); i >= 0 {
		return all[i : i+1], nil
	}
	return nil, failf("there is no %s %s; list them with --%s all", what, which, what)
}

// assemble builds the stacks of the threads; lean keeps nothing of a single one's
// frames but their addresses.
func assemble(ctx context.Context, e *engine.Engine, at *stop.Stopped, threads []reading.Thread, depth int, lean bool, values *held) *stackResult {
	r := &stackResult{at: at, held: values}
	meter := newProgress("stacks", len(threads))
	defer meter.done()
	opts := stop.AllOptions{Depth: depth, Done: func() { meter.add(1) }, AllRegisters: values != nil}
	if lean {
		r.addresses = new(export.Addresses)
		opts.Sink = r.addresses.Add
	}
	if prepared, err := at.Prepare(ctx, e); err == nil { // else ctx has ended, and the caller says so
		r.stacks = at.All(ctx, prepared, threads, opts)
	}
	for i := range threads {
		r.threads = append(r.threads, threads[i].Thread)
		if values != nil && i < len(r.stacks) {
			values.read(at, &threads[i], &r.stacks[i])
		}
	}
	return r
}
