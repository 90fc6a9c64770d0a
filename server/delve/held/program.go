package held

import (
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/service/debugger"

	"github.com/clewdbg/clew/server/delve/door"
	"github.com/clewdbg/clew/server/delve/interpose"
	"github.com/clewdbg/clew/server/delve/targets"
	"github.com/clewdbg/clew/unwind"
)

// Program is a process, or what a core file has of one, as Delve holds it: it runs,
// stops, and has breakpoints and memory.
type Program struct {
	Door       *door.Door
	concurrent concurrentReads
	pid        atomic.Int64 // of the process at its last stop

	// These never change.
	arch      unwind.Arch
	os        string
	launched  bool
	recorded  bool        // a core file or a recording
	stood     bool        // stopped by a signal when it was attached to
	functions atomic.Bool // Delve knows some
}

// hold returns the program of a debugger, which is stopped.
func Of(dbg *debugger.Debugger) (*Program, error) {
	d, err := door.Of(dbg, interpose.Runs)
	if err != nil {
		return nil, err
	}
	p := &Program{Door: d, launched: dbg.AttachPid() == 0}
	group, unlock, err := p.Stopped()
	if err != nil {
		return nil, err
	}
	defer unlock()
	p.recorded, _ = group.Recorded()
	p.arch, p.os = targets.Arch(group.Selected), group.Selected.BinInfo().GOOS
	p.Begins(group)
	return p, nil
}

// Begins notes what Delve knows of a program that it has started, or started anew.
func (p *Program) Begins(group *proc.TargetGroup) {
	p.functions.Store(len(group.Selected.BinInfo().Functions) > 0)
}

// StoodStill has Close leave the process stopped, as it was found.
func (p *Program) StoodStill() { p.stood = true }

// Live says whether this is a process, and not a core file or a recording. It may be called while the target runs.
func (p *Program) Live() bool { return !p.recorded }

// LocalPid is the ID of a process on this machine whose memory Linux lets another read, 0 for a
// core file or a recording.
func (p *Program) LocalPid(t *proc.Target) int {
	if p.recorded || runtime.GOOS != "linux" {
		return 0
	}
	return t.Pid()
}

// Stopped returns the processes at their stop, until unlock is called; see [door.Door.Stopped].
func (p *Program) Stopped() (group *proc.TargetGroup, unlock func(), err error) {
	group, unlock, err = p.Door.Stopped()
	if err == nil {
		p.pid.Store(int64(group.Selected.Pid()))
	}
	return group, unlock, err
}

// Gone says how the process has ended; it is nil while there is one.
func (p *Program) Gone() error {
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

// Target is the process that Delve has selected; a restart makes another.
func (p *Program) Target() (t *proc.Target, err error) {
	if p.concurrent.read(func(walked *proc.Target) error { t = walked; return nil }) {
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
func (p *Program) KnowsFunctions() bool { return p.functions.Load() }

// Pid is the process's ID; while it runs, that of its last stop.
func (p *Program) Pid() int {
	if t, err := p.Target(); err == nil {
		return t.Pid()
	}
	return int(p.pid.Load())
}

// Launched says whether we started the process.
func (p *Program) Launched() bool { return p.launched }

// Close leaves the process: one that we launched is killed, one that we attached to goes on, and
// one that stood stopped then stands stopped again. Delve wakes what it finds stopped 50 ms
// after it has let go; so a moment may pass between that and the second signal.
func (p *Program) Close() error {
	stop := func() {
		if p.stood {
			_ = syscall.Kill(p.Pid(), syscall.SIGSTOP) // it may have ended
		}
	}
	stop()
	err := p.Door.Detach(p.launched)
	stop()
	if errors.As(err, new(proc.ErrProcessExited)) {
		return nil
	}
	return err
}

// OneLine folds Delve's longer explanations into one line.
func OneLine(err error) error {
	text := strings.Join(strings.Fields(err.Error()), " ")
	return &foldedError{text: strings.TrimPrefix(text, "could not launch process: "), err: err}
}

type foldedError struct {
	text string
	err  error
}

func (e *foldedError) Error() string { return e.text }

func (e *foldedError) Unwrap() error { return e.err }

// Arch is the target's architecture, and OS its operating system (GOOS).
func (p *Program) Arch() unwind.Arch { return p.arch }

// OS is the target's operating system (GOOS).
func (p *Program) OS() string { return p.os }

// InLibrary says that Delve lists no goroutines: the executable has no Go code, it comes with a
// library; or the program has no DWARF.
func (p *Program) InLibrary() bool {
	group, unlock, err := p.Stopped()
	if err != nil {
		return false // whoever asks at a stop fails otherwise, too
	}
	defer unlock()
	bi := group.Selected.BinInfo()
	if GoInLibrary(bi) {
		return true
	}
	_, err = bi.FindType("runtime.g")
	return err != nil
}

// NotGo says that the executable has no Go code.
func (p *Program) NotGo() bool {
	group, unlock, err := p.Stopped()
	if err != nil {
		return false // whoever asks at a stop fails otherwise, too
	}
	defer unlock()
	return GoInLibrary(group.Selected.BinInfo())
}

// GoInLibrary says that the executable has no Go code.
func GoInLibrary(bi *proc.BinaryInfo) bool { return len(bi.Images) > 0 && !bi.Images[0].IsGo }
