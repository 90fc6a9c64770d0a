package delve

import (
	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/delve/door"
)

// What tests of a session that holds a program need.

func ProgramOf(d *DAP) (*Session, error) { return d.program() }

func DoorOf(s *Session) *door.Door { return s.Door }

func Unannounce(d *DAP) { d.launch.told.Store(false) }

// Remembers says that Delve remembers the stack of the goroutine that is selected.
func Remembers(t *proc.Target) (bool, error) {
	r, err := slotsOf(t, t.SelectedGoroutine())
	return err == nil && r.known(), err
}
