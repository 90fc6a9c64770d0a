package frames

import (
	"sync"

	"github.com/clewdbg/clew/server/dap/wire"
)

// notes shows the notes on stacks. An editor shows frames, and no defects of an image's
// tables: those come in the debug console, once.
type notes struct {
	client *wire.Client

	mu    sync.Mutex
	shown map[string]bool
}

// maxNotes bounds the notes of a session. They are in the stacks that clew/stack
// returns all the same.
const maxNotes = 64

// first says whether a note is new.
func (n *notes) first(note string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.shown[note] || len(n.shown) == maxNotes {
		return false
	}
	if n.shown == nil {
		n.shown = make(map[string]bool)
	}
	n.shown[note] = true
	return true
}

// show writes the notes that are new into the debug console.
func (n *notes) show(list []string) {
	for _, note := range list {
		if n.first(note) {
			n.client.Console("clew: " + note)
		}
	}
}
