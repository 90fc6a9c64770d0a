package terminal

import (
	"fmt"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"
)

// A damaged program or core file may claim any number of goroutines: Delve goes over all of them, and keeps an error for each
// (pkg/proc/variables.go, GoroutinesInfo). A terminal would print their stacks for years. Example: a core file with a damaged
// segment, in which the runtime's number of goroutines is 2^60. Tests: TestDamagedList, TestDamagedListing.
const (
	listedAtOnce  = 1000 // goroutines that Delve is asked for
	maxUnreadable = 100  // in a row that cannot be read, or that are repeated, behind which a listing ends
)

// goroutineLister is what has Delve list goroutines.
type goroutineLister interface {
	ListGoroutines(rpc2.ListGoroutinesIn, *rpc2.ListGoroutinesOut) error
}

// listBounded lists goroutines as Delve does, to where only such follow that cannot be read.
func listBounded(d goroutineLister, arg rpc2.ListGoroutinesIn, out *rpc2.ListGoroutinesOut) error {
	if arg.GroupBy != api.GoroutineFieldNone { // groups count the goroutines of one answer
		return d.ListGoroutines(arg, out)
	}
	for left := arg.Count; ; {
		part := arg
		if part.Count = listedAtOnce; left > 0 {
			part.Count = min(left, listedAtOnce)
		}
		var some rpc2.ListGoroutinesOut
		if err := d.ListGoroutines(part, &some); err != nil {
			*out = rpc2.ListGoroutinesOut{} // or who lists them in another way would add to these
			return err
		}
		out.Goroutines, out.Nextg = append(out.Goroutines, some.Goroutines...), some.Nextg
		left -= part.Count
		if endDamaged(out); out.Nextg <= arg.Start || left == 0 {
			return nil
		}
		arg.Start = out.Nextg
	}
}

// endDamaged ends a listing that goes on with goroutines that cannot be read, or that it has already. Example of the latter: a
// core file whose list has one goroutine a million times.
func endDamaged(out *rpc2.ListGoroutinesOut) {
	row, again, seen := 0, 0, make(map[int64]bool, len(out.Goroutines))
	for i, g := range out.Goroutines {
		switch {
		case g.Unreadable != "":
			row++
		case seen[g.ID]:
			row, again = 0, again+1
		default:
			row, seen[g.ID] = 0, true
		}
		why := ""
		switch {
		case row > maxUnreadable:
			why = fmt.Sprintf("and no more are listed: the %d before cannot be read either, so the runtime's list is damaged", maxUnreadable)
		case again > maxUnreadable:
			why = fmt.Sprintf("and no more are listed: %d before were listed already, so the runtime's list is damaged", maxUnreadable)
		default:
			continue
		}
		out.Goroutines, out.Nextg = append(out.Goroutines[:i:i], &api.Goroutine{Unreadable: why}), -1
		return
	}
}
