package door

import (
	"sync"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/service/api"
)

// Aside is the way for work for which the session halts the program for a moment, as often as it takes, or keeps it at its stop (server/session,
// Client.Aside): breakpoints are set while the program runs. It waits for the lock.
type Aside struct{ d *Door }

// Aside returns that way.
func (d *Door) Aside() Aside { return Aside{d} }

// Stopped returns the processes at a stop; until unlock is called, nothing lets them run.
func (a Aside) Stopped() (group *proc.TargetGroup, unlock func()) {
	a.d.lock.Lock()
	return *a.d.group, sync.OnceFunc(a.d.lock.Unlock)
}

// CreateBreakpoint sets a breakpoint, or has it wait for code to be loaded.
func (a Aside) CreateBreakpoint(b *api.Breakpoint) (*api.Breakpoint, error) {
	return a.d.dbg.CreateBreakpoint(b, "", nil, true)
}

// FindBreakpoint returns a breakpoint, nil if there is none with the number.
func (a Aside) FindBreakpoint(id int) *api.Breakpoint { return a.d.dbg.FindBreakpoint(id) }

// FindLocation finds a location in Delve's notation, whatever is selected.
func (a Aside) FindLocation(location string) ([]api.Location, error) {
	found, _, err := a.d.dbg.FindLocation(-1, 0, 0, location, false, nil)
	return found, err
}
