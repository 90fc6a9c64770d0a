package delve

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/service/debugger"

	"github.com/clewdbg/clew/server/delve/breakpoints"
	"github.com/clewdbg/clew/server/delve/executable"
	"github.com/clewdbg/clew/server/delve/held"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/delve/interpose"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/delve/steps"
	"github.com/clewdbg/clew/server/internal/procfs"
)

// Session is a local process under Delve's control: what holds it, what is read of it at a stop, and its steps. Its methods do not
// wait for a target that runs: they fail with [door.ErrRunning], or return nothing. They are not safe for
// concurrent use.
type Session struct {
	*held.Program
	*reading.Reader
	*steps.Stepper
	breaks *breakpoints.Set // in native code
}

// LaunchConfig says what to launch.
type LaunchConfig struct {
	Args       []string // the executable and its arguments
	WorkingDir string
	// Stdout of the program; empty Path and nil File inherit ours. A caller whose
	// own standard output is data redirects the program's elsewhere.
	Stdout, Stderr *os.File
	// NoStdin keeps the program from reading our standard input.
	NoStdin bool
}

// Launch starts a program, stopped before its first instruction.
func Launch(cfg LaunchConfig) (*Session, error) {
	_, err := exec.LookPath(cfg.Args[0])
	if missing, ok := errors.AsType[*exec.Error](err); ok {
		err = missing.Err // without the path
	}
	if err == nil {
		err = executable.CheckLaunch(cfg.Args[0])
	}
	if err != nil {
		return nil, fmt.Errorf("cannot launch %s: %w", cfg.Args[0], err)
	}
	c := &debugger.Config{
		WorkingDir: cfg.WorkingDir, Backend: "default", Foreground: !cfg.NoStdin, ExecuteKind: debugger.ExecutingExistingFile,
		Stdout: proc.OutputRedirect{File: cfg.Stdout}, Stderr: proc.OutputRedirect{File: cfg.Stderr},
	}
	if cfg.NoStdin {
		c.Stdin = os.DevNull
	}
	s, err := open(c, cfg.Args)
	if err != nil {
		return nil, fmt.Errorf("cannot launch %s: %w", cfg.Args[0], held.OneLine(err))
	}
	return s, nil
}

// Attach stops a running process and holds it.
func Attach(pid int) (*Session, error) {
	if err := executable.CheckAttachable(pid); err != nil {
		return nil, err
	}
	status, statusErr := procfs.ReadStatus(pid)
	s, err := open(&debugger.Config{AttachPid: pid, Backend: "default"}, nil)
	if err != nil {
		return nil, executable.ExplainAttach(pid, held.OneLine(err))
	}
	if statusErr == nil && strings.HasPrefix(status.Field("State"), "T") {
		s.StoodStill()
	}
	return s, nil
}

func open(c *debugger.Config, args []string) (*Session, error) {
	if err := internals.Check(); err != nil {
		return nil, err
	}
	dbg, err := newDebugger(c, args)
	if err != nil {
		return nil, err
	}
	s, err := Over(dbg)
	if err != nil {
		_ = dbg.Detach(c.AttachPid == 0)
		return nil, err
	}
	return s, nil
}

// newDebugger makes Delve open the program. A panic of its code, which does not survive every damaged
// file, is an error here.
func newDebugger(c *debugger.Config, args []string) (dbg *debugger.Debugger, err error) {
	defer func() {
		if r := recover(); r != nil {
			dbg, err = nil, fmt.Errorf("%s is too damaged for Delve: %v", fileOf(c, args), r)
		}
	}()
	listen()
	executable.LimitMemory(fileOf(c, args), interpose.SayLast)
	if c.CoreFile != "" && len(args) > 0 {
		if err := executable.TryLoad(args[0], c.DebugInfoDirectories); err != nil {
			return nil, err
		}
	}
	if err := interpose.Announce(c, args); err != nil {
		return nil, err
	}
	return debugger.New(c, args)
}

// fileOf names what Delve reads.
func fileOf(c *debugger.Config, args []string) string {
	switch {
	case len(args) > 0:
		return args[0]
	case c != nil && c.AttachPid > 0:
		return procfs.Path(c.AttachPid, "exe")
	}
	return "a file of the program"
}

// NewDebugger has Delve open a program for its own server or terminal: not one whose files [executable.MayOpen] refuses.
func NewDebugger(c *debugger.Config, args []string) (*debugger.Debugger, error) {
	if len(args) > 0 {
		if err := executable.MayOpen(args[0]); err != nil {
			return nil, err
		}
	}
	return newDebugger(c, args)
}

// Over makes a session of a debugger that was made already. The debugger is
// stopped.
//
// It has Delve forget how to cancel downloads, so that an editor can pause a program
// that was attached to.
//
// Situation: Delve notes, for every library that it adds, how to cancel the download
// of its debug information, and forgets that at the end of each run of the program. A
// pause that comes while there is such a note cancels the download, does nothing else,
// and is not answered. Example: an editor attaches to a program that links a library,
// and pauses it: the program runs on, whatever the editor asks, until it stops for
// another reason. Attaching downloads nothing: there is nothing to cancel then. Test:
// in integration/dap, TestPauseAfterAttach.
func Over(dbg *debugger.Debugger) (*Session, error) {
	p, err := held.Of(dbg)
	if err != nil {
		return nil, err
	}
	r := reading.New(p)
	s := &Session{p, r, steps.New(p, r), breaksOf(dbg)}
	group, unlock, err := s.Stopped()
	if err != nil {
		return nil, err
	}
	defer unlock()
	interpose.ShowList()
	if err := interpose.Prepare(group, s.breaks, s.Launched()); err != nil {
		return nil, err
	}
	for _, t := range group.Targets() {
		if err := internals.ForgetDownloads(t.BinInfo()); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Renew forgets all facts about one process: Delve has started the program
// anew, or has followed it into another.
func (s *Session) Renew() error {
	group, unlock, err := s.Stopped()
	if err != nil {
		return err
	}
	defer unlock()
	s.Reader.ForgetProcess()
	s.Stepper.ForgetProcess()
	s.Begins(group)
	return interpose.Prepare(group, s.breaks, s.Launched())
}
