package delve

import (
	"github.com/clewdbg/clew/server/delve/door"
)

// What tests of a session that holds a program need.

func ProgramOf(d *DAP) (*Session, error) { return d.program() }

func DoorOf(s *Session) *door.Door { return s.Door }

func Unannounce(d *DAP) { d.launch.told.Store(false) }
