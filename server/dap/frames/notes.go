package frames

import (
	"sync"

	"github.com/clewdbg/clew/server/assembler"
)

// notes shows the notes on stacks. An editor shows frames, and no defects of an image's
// tables: those come in the debug console, once; that a strategy has failed at each stop.
type notes struct {
	console func(text string) // writes a line there

	mu    sync.Mutex
	shown map[string]bool
	again int // how many were shown again
}

// maxNotes bounds the notes of a session. They are in the stacks that clew/stack
// returns all the same.
const maxNotes = 64

// show writes the notes that are new into the debug console.
func (n *notes) show(list []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, note := range list {
		known := n.shown[note]
		if known && assembler.LeftOut(note) {
			n.again++
		}
		if known && (!assembler.LeftOut(note) || n.again > maxNotes) || !known && len(n.shown) == maxNotes {
			continue
		}
		if n.shown == nil {
			n.shown = make(map[string]bool)
		}
		n.shown[note] = true
		n.console("clew: " + note)
	}
}
