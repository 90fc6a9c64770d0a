package terminal

import (
	"context"
	"errors"
	"io"

	"github.com/clewdbg/clew/server/corefile"
	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/server/stop"
)

// shared is the program as one editor has it: others may let it run, change it,
// and start it anew. What was read of it between Begin and Still belongs together.
type shared struct {
	*delve.Session
	server *server
	core   io.Closer // its own, nil for a process
	pid    int
	since  state
}

// state tells apart how a program stands.
type state struct{ moment, changes uint64 }

func (s *server) stands() state { return state{delve.Moment(), s.changes.Load()} }

// Begin begins to look at the program as it stands.
func (s *shared) Begin() error {
	if s.server.dbg.IsRunning() {
		return delve.ErrRunning
	}
	s.since = s.server.stands()
	if pid := s.Pid(); pid != s.pid {
		s.pid = pid
		return s.Renew()
	}
	return nil
}

// Still says whether the program has stood still since.
func (s *shared) Still() error {
	if s.server.stands() != s.since {
		return delve.ErrMoved
	}
	return nil
}

var errShared = errors.New("another client is being served; ask again")

// Lend lends a frame while no other client is asked for a stack: it would get
// the lent one.
func (s *shared) Lend(f *delve.Lent) (delve.Loan, error) {
	if !s.server.gate.TryLock() {
		return delve.Loan{}, errShared
	}
	loan, err := s.Session.Lend(f)
	if err != nil {
		s.server.gate.Unlock()
		return loan, err
	}
	release := loan.Release
	loan.Release = func() {
		defer s.server.gate.Unlock()
		release()
	}
	return loan, nil
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
		return out, s.finding(live.NewShared(out)), nil
	case s.core != "":
		file, err := corefile.Open(s.core)
		if err != nil {
			return nil, nil, err
		}
		out.core = file
		return out, s.finding(live.NewCore(session, file, s.image)), nil
	}
	return nil, nil, delve.ErrRecorded
}

// changed says that the program was written to, or that a thread of it stands
// elsewhere.
func (s *server) changed() {
	s.changes.Add(1)
	s.stacks.Changed()
}
