package terminal

import (
	"sync"

	"github.com/go-delve/delve/service/api"
)

// once are the breakpoints that are removed when they have stopped the program, by their numbers.
type once struct {
	mu  sync.Mutex
	ids map[int]bool
}

// onceIn and onceOut are the arguments of OnceBreakpoint, a method of clew's.
type (
	onceIn  struct{ ID int }
	onceOut struct{}
)

// onceBreakpoint has a breakpoint removed when it has stopped the program.
func (s *server) onceBreakpoint(arg onceIn, _ *onceOut) error {
	if s.dbg == nil {
		return errNotHere
	}
	s.once.mu.Lock()
	defer s.once.mu.Unlock()
	if s.once.ids == nil {
		s.once.ids = make(map[int]bool)
	}
	s.once.ids[arg.ID] = true
	return nil
}

// removeOnce removes those that threads have stopped at.
func (s *server) removeOnce(state *api.DebuggerState) {
	s.once.mu.Lock()
	defer s.once.mu.Unlock()
	for _, th := range state.Threads {
		if th.Breakpoint != nil && s.once.ids[th.Breakpoint.ID] {
			delete(s.once.ids, th.Breakpoint.ID)
			_, _ = s.dbg.ClearBreakpoint(&api.Breakpoint{ID: th.Breakpoint.ID}) // or the user has cleared it
		}
	}
}
