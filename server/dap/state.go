package dap

import (
	"sync"

	"github.com/clewdbg/clew/server/stop"
)

// state says whether the program runs, as the client knows it, and counts its
// stops. Delve halts the program for a moment to set breakpoints, of which the
// client learns nothing: that is running, here as well.
type state struct {
	mu      sync.Mutex
	stopped bool
	epoch   uint64
	// wrote counts what may have changed the stopped program's memory.
	wrote uint64
}

// at returns the stop that the program stands at; ok is false while it runs.
func (s *state) at() (at stop.Moment, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return stop.Moment{Epoch: s.epoch, Writes: s.wrote}, s.stopped
}

// resumes is called before a request that lets the program run; the function
// that it gives is called with Delve's answer.
func (s *state) resumes() (answered func(success bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, epoch := s.stopped, s.epoch
	s.stopped = false
	return func(success bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !success && was && s.epoch == epoch {
			s.stopped = true // refused: it stands where it stood
		}
	}
}

// stops is called when Delve says that the program has stopped.
func (s *state) stops() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	s.epoch++
}

// moves is called when the program turns out to stand elsewhere, without the
// client's doing.
func (s *state) moves() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch++
}

// runs is called when Delve says that the program runs, or is gone.
func (s *state) runs() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = false
}

// writes is called when the program's memory may have been changed by request.
func (s *state) writes() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrote++
}
