package dap

import "sync"

// said are the notes on stacks that the client has seen. An editor shows frames,
// not what is wrong with an image's tables: that comes in the debug console, once.
type said struct {
	mu    sync.Mutex
	notes map[string]bool
}

// maxSaid bounds the notes of a session. They are on the stacks all the same, as
// clew/stack gives them.
const maxSaid = 64

// first says whether a note is new.
func (s *said) first(note string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.notes[note] || len(s.notes) == maxSaid {
		return false
	}
	if s.notes == nil {
		s.notes = make(map[string]bool)
	}
	s.notes[note] = true
	return true
}

// sayNotes writes the notes that are new into the debug console.
func (p *Proxy) sayNotes(notes []string) {
	for _, note := range notes {
		if p.said.first(note) {
			p.console("clew: " + note)
		}
	}
}
