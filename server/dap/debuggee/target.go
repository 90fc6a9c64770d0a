package debuggee

import (
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/server/stepping"
	"github.com/clewdbg/clew/server/stop"
)

// Target is what the upstream debugs: a [delve.Session] in this process, or a program
// behind a Delve server (server/remote).
type Target interface {
	stop.Debugger
	Pid() int
	// Live says whether it is a process, and not a core file or a recording;
	// Launched, whether Delve has started it.
	Live() bool
	Launched() bool
	// SelectThread changes what Delve's commands are about.
	SelectThread(tid uint64) error
	// PrefetchStack has Delve walk a stack before a request for it, until release.
	PrefetchStack(goroutine int64, depth int) (release func())
	// Arm has the next resume stop where a step was decided to end, and EndStep forgets it.
	// It returns false where Delve's step needs nothing.
	Arm(d *stepping.Decision) (armed bool, err error)
	EndStep() error
}

// Local is a target in this process.
type Local interface {
	Target
	live.Source
}

// Shared is a target that other clients see too: Wrote tells it that this one may
// have changed the program's memory.
type Shared interface{ Wrote() }

// Inserter is a target into whose stack a frame can be inserted that Delve does not know,
// for requests about it: one in this process.
type Inserter interface {
	InsertFrame(f *reading.RecoveredFrame) (reading.InsertedFrame, error)
}
