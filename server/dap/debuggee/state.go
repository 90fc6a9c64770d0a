package debuggee

import (
	"sync"

	"github.com/clewdbg/clew/server/stop"
)

// State is whether the program runs, as the client knows it, and the number of its
// stops. Delve halts the program for a moment to set breakpoints, of which the
// client learns nothing: that is running, here as well.
type State struct {
	mu      sync.Mutex
	stopped bool
	epoch   uint64
	// wrote counts what may have changed the stopped program's memory.
	wrote uint64
}

// At returns the stop that the program stands at; ok is false while it runs.
func (s *State) At() (at stop.Moment, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return stop.Moment{Epoch: s.epoch, Writes: s.wrote}, s.stopped
}

// Resumes is called before a request that lets the program run; the function
// that it returns is called with Delve's answer.
func (s *State) Resumes() (answered func(success bool)) {
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

// Stops is called when Delve says that the program has stopped.
func (s *State) Stops() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	s.epoch++
}

// moves is called when the program turns out to stand elsewhere, without the
// client's doing.
func (s *State) moves() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch++
}

// Runs is called when Delve says that the program runs, or is gone.
func (s *State) Runs() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = false
}

// Writes is called when the program's memory may have been changed by request.
func (s *State) Writes() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrote++
}
