package dap

import (
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/lifeline"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/server/stepping"
)

// Target is what the upstream debugs: a [delve.Session] in this process, or a
// [delve.Remote].
type Target interface {
	live.Source
	// Live says whether it is a process, and not a core file or a recording;
	// Launched, whether Delve has started it.
	Live() bool
	Launched() bool
	// Planted lists Delve's breakpoints.
	Planted() []lifeline.Patch
	// Selected gives what Delve's commands are about, and SelectThread changes it.
	Selected() (delve.Selection, error)
	SelectThread(tid uint64) error
	// InLibrary says that the program's Go code came with a library: Delve lists no
	// goroutines then, and may take any word of a thread's for its g.
	InLibrary() bool
	// WalkAhead has Delve walk a stack for who will ask for it, until release.
	WalkAhead(goroutine int64, depth int) (release func())
	// Arm has the next resume stop at a frame's return, and EndStep forgets it.
	Arm(at stepping.Temporary) error
	EndStep() error
}

// Shared is a target that other clients look at too: Wrote says that this one may
// have changed the program's memory.
type Shared interface{ Wrote() }

// Lender is a target whose Delve can be lent a frame that it does not know, for
// requests about it: one in this process.
type Lender interface {
	Lend(f *delve.Lent) (delve.Loan, error)
}
