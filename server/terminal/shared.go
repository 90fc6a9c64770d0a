package terminal

import (
	"context"
	"errors"
	"io"

	"github.com/clewdbg/clew/server/corefile"
	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/interpose"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/server/stop"
)

// shared is one editor's access to the program, which other clients may run, change
// and restart. What was read of it between Begin and Still belongs together.
type shared struct {
	*delve.Session
	server *server
	core   io.Closer // opened for this editor, nil for a process
	pid    int
	since  state
}

// state differs when the program has run, or was written to.
type state struct{ stops, changes uint64 }

func (s *server) currentState() state { return state{interpose.Moment(), s.changes.Load()} }

// Begin begins to read the program at this stop.
func (s *shared) Begin() error {
	if s.server.process.IsRunning() {
		return live.ErrRunning
	}
	s.since = s.server.currentState()
	if pid := s.Pid(); pid != s.pid {
		s.pid = pid
		return s.Renew()
	}
	return nil
}

// Still says whether the program has stood still since.
func (s *shared) Still() error {
	if s.server.currentState() != s.since {
		return live.ErrMoved
	}
	return nil
}

var errShared = errors.New("another client is being served; ask again")

// InsertFrame inserts a frame while no other client is asked for a stack, which
// would contain it.
func (s *shared) InsertFrame(f *reading.RecoveredFrame) (reading.InsertedFrame, error) {
	if !s.server.gate.TryLock() {
		return reading.InsertedFrame{}, errShared
	}
	inserted, err := s.Session.InsertFrame(f)
	if err != nil {
		s.server.gate.Unlock()
		return inserted, err
	}
	release := inserted.Release
	inserted.Release = func() {
		defer s.server.gate.Unlock()
		release()
	}
	return inserted, nil
}

// Wrote implements [debuggee.Shared].
func (s *shared) Wrote() { s.server.changed() }

// Close closes what the editor's session has opened; the program goes on.
func (s *shared) Close() error {
	if s.core != nil {
		return s.core.Close()
	}
	return nil
}

// reach returns the program to an editor.
func (s *server) reach(context.Context) (debuggee.Target, stop.Program, error) {
	session, err := delve.Over(s.dbg)
	if err != nil {
		return nil, nil, err
	}
	out := &shared{Session: session, server: s, pid: session.Pid()}
	switch {
	case session.Live():
		return out, withDebugFiles(live.NewShared(out), s.debugFolders), nil
	case s.core != "":
		file, err := corefile.Open(s.core)
		if err != nil {
			return nil, nil, err
		}
		out.core = file
		return out, withDebugFiles(live.NewCore(session, file, live.CoreFiles{Executable: s.image}), s.debugFolders), nil
	}
	return nil, nil, live.ErrRecorded
}

// changed says that the program was written to, or that a thread of it stands
// elsewhere.
func (s *server) changed() {
	s.changes.Add(1)
	s.stacks.Changed()
}
