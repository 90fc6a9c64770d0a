package debuggee

import (
	"errors"
	"fmt"
	"io"

	"github.com/clewdbg/clew/server/corefile"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/live"
)

// Attach takes the process that Delve has now, or the core file.
func (l *Program) Attach() {
	if l.Remote != nil {
		l.reachRemote()
		return
	}
	var s *delve.Session
	if l.Session != nil {
		s = l.Session()
	}
	if s == nil {
		l.Stops.Watch(nil, nil)
		return
	}
	target, process := l.local(s)
	if process == nil {
		l.Stops.Watch(target, nil) // a recording
		return
	}
	process.FindDebugFiles(l.DebugFolders)
	l.Stops.Watch(target, process)
}

// local returns how a session of this process's is debugged and read; it cannot read a recording.
func (l *Program) local(s *delve.Session) (target Local, process *live.Process) {
	target = s
	if l.Share != nil {
		target = l.Share(s, l.Config.Get())
	}
	if !s.Live() {
		if file, executable := l.openCore(); file != nil {
			process = live.NewCore(s, file, live.CoreFiles{Executable: executable})
		}
		return target, process
	}
	if l.Share != nil {
		return target, live.NewShared(target)
	}
	return target, live.NewProcess(s)
}

// openCore opens the session's core file, nil if there is none. One session has
// one, and cannot restart it.
func (l *Program) openCore() (file *corefile.File, executable string) {
	s := l.Config.Get()
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.Core == "" || l.core != nil {
		return nil, ""
	}
	file, err := corefile.Open(s.Core)
	if err != nil {
		l.Wire.Log("core file: %v", err)
		return nil, ""
	}
	l.core = file
	return file, s.Executable
}

// A program behind a Delve server has other clients, which can let it run and
// change it without a word to this session. What was read of it counts only if
// it stands still all the while; see [stop.Stops]. Where it has moved, IDs of frames
// are void, as after a stop, and Delve's own answer goes out.

// reachRemote reaches the program, in the background: it may run already, and
// then nothing answers.
func (l *Program) reachRemote() {
	done := l.Stops.Expect()
	if done == nil {
		return
	}
	if l.Config.Get().Own {
		// `dlv dap` takes one client. It would not answer a second one, so it is not asked.
		l.Stops.Lack(ErrOneClient)
		done()
		return
	}
	go func() {
		defer done()
		target, program, err := l.Remote(l.Wire.Context())
		if err != nil {
			l.unreached(err)
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.Stops.Watch(target, program)
		if c, ok := target.(io.Closer); ok && l.closed {
			_ = c.Close()
		}
	}()
}

// ErrOneClient says why clew cannot read a program: DAP has requests neither for a
// thread's registers nor for a stack's memory, and needs a second connection.
var ErrOneClient = errors.New("the Delve server takes one client only, so clew cannot read registers and stacks; start it with --headless --accept-multiclient")

// unreached notes why the program cannot be reached. The client is told without having
// asked, unless the server is of a kind that cannot be reached at all: a client that knows
// nothing of clew expects Delve's events alone from it, and requests of clew's fail with the reason.
func (l *Program) unreached(err error) {
	l.Wire.Log("reach the program: %v", err)
	l.Stops.Lack(err)
	if l.Wire.Context().Err() == nil && !errors.Is(err, ErrOneClient) {
		l.Wire.Client.Console(fmt.Sprintf("clew: stacks and steps are Delve's own: %v", err))
	}
}
