package live

import (
	"bytes"
	"errors"
)

// shared is a source whose program others may let run: reads count only if the
// program stands still all the while.
type shared interface {
	Begin() error
	Still() error
}

// What is wrong with a program that others may let run.
var (
	// ErrRunning says that the program runs, perhaps because another client let it.
	ErrRunning = errors.New("the program is running; stop it first (dlv connect: halt; an editor: pause)")
	// ErrMoved says that the program has run, or was changed, since it was looked at.
	ErrMoved = errors.New("another client has let the program run, or has changed it")
	// ErrRecorded says that there is no process.
	ErrRecorded = errors.New("it debugs a core file or a recording")
)

// NewShared makes a Process of a program of this process's that others may let
// run.
func NewShared(s Source) *Process { return New(s, Here(s)) }

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
	text, err := v.place.Maps()
	if err != nil || !bytes.Equal(text, v.loaded.text) {
		return errors.Join(ErrMoved, err)
	}
	return nil
}
