package stop

import (
	"errors"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/unwind/snapshot"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/unwind"
)

// Program is a program under a debugger, from stop to stop. It need not be safe
// for concurrent use.
type Program interface {
	// View reads the program as it stands. With record set, what is read of its
	// memory is kept for a snapshot.
	View(record bool) (View, error)
}

// View is a program at one stop. It is valid until the program runs or its memory
// is written to.
type View interface {
	// EngineInput is what strategies and the assembler work with.
	EngineInput() *engine.Input
	Images() *imagemap.ImageMap
	Threads() ([]reading.Thread, error)
	// Current is the thread that stopped the program.
	Current() (reading.Thread, error)
	// Goroutines are sorted by their IDs. Goroutine finds the current one without
	// reading the others.
	Goroutines() ([]reading.Thread, error)
	Goroutine(id uint64) (reading.Thread, error)
	// Claims returns Delve's frames, at most depth of them.
	Claims(th reading.Thread, depth int) ([]unwind.Frame, error)
	// Still is nil if the program has stood still since the view was taken, where
	// other clients could have let it run.
	Still() error
	// Snapshot holds the threads and the memory that was read for their stacks. The
	// view must have been taken with record set.
	Snapshot(threads []unwind.Thread, stacks []unwind.Stack) (*snapshot.Snapshot, error)
}

// Debugger is the debugger that holds the program: a [delve.Session], or a
// connection to a server.
type Debugger interface {
	// Selected is what the debugger's commands apply to.
	Selected() (reading.Selection, error)
	// InLibrary says that Delve lists no goroutines: the program has no DWARF, or its Go
	// code came with a library. Then Delve may take any word of a thread's memory for its g.
	InLibrary() bool
}

// Moment tells stops apart: Epoch counts the stops, and Writes how often the
// program's memory may have been written to.
type Moment struct{ Epoch, Writes uint64 }

// Errors of work at a stop.
var (
	ErrRunning   = errors.New("the program is running")
	ErrNoProgram = errors.New("there is no program to read")
	ErrBusy      = errors.New("an earlier request to read the program has not ended yet")
	ErrPatience  = errors.New("looking at the program took too long")
	ErrCancelled = errors.New("cancelled")
	ErrMoved     = errors.New("the program has run meanwhile")
)
