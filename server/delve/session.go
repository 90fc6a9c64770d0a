package delve

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/service/debugger"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/unwind/gocode"
	"github.com/clewdbg/clew/server/delve/breakpoints"
	"github.com/clewdbg/clew/server/delve/door"
	"github.com/clewdbg/clew/server/delve/executable"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/delve/interpose"
	"github.com/clewdbg/clew/server/delve/targets"
	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/server/internal/goruntime"
	"github.com/clewdbg/clew/server/internal/procfs"
	"github.com/clewdbg/clew/unwind"
)

// Session is a local process under Delve's control. Its methods do not
// wait for a target that runs: they fail with [door.ErrRunning], or return nothing. They are not safe for
// concurrent use.
type Session struct {
	program
	keeper
	layout   *goruntime.Layout // of the runtime's structures; nil where it is not known
	noLayout int               // the number of images that were searched for it in vain
	code     gocode.Code       // of the runtime; nil until it is known
	maps     []imagemap.Mapping
	symbols  *codemap.Map // of all images; nil until they are known
	// variables are the runtime's, where they were found without DWARF.
	variables map[string]uint64
	addressOf map[string]uint64 // variables, by DWARF, once they were asked for
	slots     slots             // where libraries keep their threads' g
	cgo       *cgo              // of the program; nil until it was searched for it
	globals   []string          // names of global variables; nil until they were asked for
}

// program is a process, or what a core file has of one, as Delve holds it: it runs,
// stops, and has breakpoints and memory.
type program struct {
	door   *door.Door
	beside beside
	pid    atomic.Int64 // of the process at its last stop

	// These never change.
	arch      unwind.Arch
	os        string
	launched  bool
	recorded  bool // a core file or a recording
	stood     bool // stopped by a signal when it was attached to
	breaks    *breakpoints.Set
	functions atomic.Bool // Delve knows some
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
		return nil, fmt.Errorf("cannot launch %s: %w", cfg.Args[0], oneLine(err))
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
		return nil, executable.ExplainAttach(pid, oneLine(err))
	}
	s.stood = statusErr == nil && strings.HasPrefix(status.Field("State"), "T")
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
	executable.LimitMemory(fileOf(c, args))
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
	d, err := door.Of(dbg, interpose.Runs)
	if err != nil {
		return nil, err
	}
	s := &Session{program: program{door: d, launched: dbg.AttachPid() == 0, breaks: breaksOf(dbg)}}
	s.keeper.of = &s.program
	group, unlock, err := s.Stopped()
	if err != nil {
		return nil, err
	}
	defer unlock()
	s.recorded, _ = group.Recorded()
	s.arch, s.os = targets.Arch(group.Selected), group.Selected.BinInfo().GOOS
	s.functions.Store(len(group.Selected.BinInfo().Functions) > 0)
	interpose.ShowList()
	if err := interpose.Prepare(group, s.breaks, s.launched); err != nil {
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
	s.layout, s.noLayout, s.variables, s.addressOf, s.slots, s.cgo, s.globals = nil, 0, nil, nil, slots{}, nil, nil
	s.functions.Store(len(group.Selected.BinInfo().Functions) > 0)
	return interpose.Prepare(group, s.breaks, s.launched)
}

// Live says whether this is a process, and not a core file or a recording. It may be called while the target runs.
func (p *program) Live() bool { return !p.recorded }

// localPid is the ID of a process on this machine whose memory Linux lets another read, 0 for a
// core file or a recording.
func (p *program) localPid(t *proc.Target) int {
	if p.recorded || runtime.GOOS != "linux" {
		return 0
	}
	return t.Pid()
}

// Stopped returns the processes at their stop, until unlock is called; see [door.Door.Stopped].
func (p *program) Stopped() (group *proc.TargetGroup, unlock func(), err error) {
	group, unlock, err = p.door.Stopped()
	if err == nil {
		p.pid.Store(int64(group.Selected.Pid()))
	}
	return group, unlock, err
}

// Gone says how the process has ended; it is nil while there is one.
func (p *program) Gone() error {
	group, unlock, err := p.Stopped()
	if err != nil {
		return nil // it runs
	}
	defer unlock()
	if valid, err := group.Selected.Valid(); !valid {
		return err
	}
	return nil
}

// target is the process that Delve has selected; a restart makes another.
func (p *program) target() (t *proc.Target, err error) {
	if p.beside.read(func(walked *proc.Target) error { t = walked; return nil }) {
		return t, nil
	}
	group, unlock, err := p.Stopped()
	if err != nil {
		return nil, err
	}
	defer unlock()
	return group.Selected, nil
}

// KnowsFunctions says that Delve had found functions when it began the program.
func (p *program) KnowsFunctions() bool { return p.functions.Load() }

// Pid is the process's ID; while it runs, that of its last stop.
func (p *program) Pid() int {
	if t, err := p.target(); err == nil {
		return t.Pid()
	}
	return int(p.pid.Load())
}

// Launched says whether we started the process.
func (p *program) Launched() bool { return p.launched }

// Close leaves the process: one that we launched is killed, one that we attached to goes on, and
// one that stood stopped then stands stopped again. Delve wakes what it finds stopped 50 ms
// after it has let go; so a moment may pass between that and the second signal.
func (p *program) Close() error {
	stop := func() {
		if p.stood {
			_ = syscall.Kill(p.Pid(), syscall.SIGSTOP) // it may have ended
		}
	}
	stop()
	err := p.door.Detach(p.launched)
	stop()
	if errors.As(err, new(proc.ErrProcessExited)) {
		return nil
	}
	return err
}

// oneLine folds Delve's longer explanations into one line.
func oneLine(err error) error {
	text := strings.Join(strings.Fields(err.Error()), " ")
	return &foldedError{text: strings.TrimPrefix(text, "could not launch process: "), err: err}
}

type foldedError struct {
	text string
	err  error
}

func (e *foldedError) Error() string { return e.text }
func (e *foldedError) Unwrap() error { return e.err }
