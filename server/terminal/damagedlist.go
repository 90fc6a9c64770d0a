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
	found := damage{seen: make(map[int64]bool)}
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
		if found.end(out); out.Nextg <= arg.Start || left == 0 {
			return nil
		}
		arg.Start = out.Nextg
	}
}

// damage finds out where a listing goes on with goroutines that cannot be read, or that it has already. Example of the latter: a
// core file whose list has one goroutine a million times.
type damage struct {
	looked     int // at so many goroutines
	row, again int
	seen       map[int64]bool
}

// end looks at the goroutines that are new in a listing, and ends it where only such follow.
func (d *damage) end(out *rpc2.ListGoroutinesOut) {
	for ; d.looked < len(out.Goroutines); d.looked++ {
		switch g := out.Goroutines[d.looked]; {
		case g.Unreadable != "":
			d.row++
		case d.seen[g.ID]:
			d.row, d.again = 0, d.again+1
		default:
			d.row, d.seen[g.ID] = 0, true
		}
		why := ""
		switch {
		case d.row > maxUnreadable:
			why = fmt.Sprintf("and no more are listed: the %d before cannot be read either, so the runtime's list is damaged", maxUnreadable)
		case d.again > maxUnreadable:
			why = fmt.Sprintf("and no more are listed: %d before were listed already, so the runtime's list is damaged", maxUnreadable)
		default:
			continue
		}
		out.Goroutines, out.Nextg = append(out.Goroutines[:d.looked:d.looked], &api.Goroutine{Unreadable: why}), -1
		return
	}
}
