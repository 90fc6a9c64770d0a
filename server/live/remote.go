package live

import (
	"bytes"
	"errors"

	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/internal/peer"
)

// shared is a source whose program others may let run: what was read of it counts
// only if it stands still all the while.
type shared interface {
	Begin() error
	Still() error
}

// NewRemote makes a Process of a program behind a Delve server. Where the server
// is on this machine (it traces the process, and holds the other end of the
// connection) the system says what the process has mapped, and files are as the
// process sees them; else both are found through the server.
func NewRemote(r *delve.Remote) *Process { return &Process{source: r, place: &behind{remote: r}} }

// NewShared makes a Process of a program of this process's that others may let
// run.
func NewShared(s Source) *Process { return &Process{source: s, place: running{s}} }

// behind is the place of a process behind a server, which is found out when the
// process first stands still.
type behind struct {
	remote *delve.Remote
	place
}

func (b *behind) find() {
	switch {
	case b.place != nil:
	case peer.Traces(b.remote.Conn(), b.remote.Pid()):
		b.place = running{b.remote}
	default:
		b.place = &distant{remote: b.remote}
	}
}

// Still says whether the program has stood still since the view was taken, where
// others could have let it run. What was found at this view counts only if it is
// nil.
func (v *View) Still() error {
	s, ok := v.source.(shared)
	if !ok {
		return nil
	}
	if err := s.Still(); err != nil {
		return err
	}
	text, err := v.place.maps()
	if err != nil || !bytes.Equal(text, v.loaded.text) {
		return errors.Join(delve.ErrMoved, err)
	}
	return nil
}
