package terminal

import (
	"slices"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"
)

// A damaged program or core file may claim any number of goroutines: Delve goes over all of them, and keeps an error for each
// (pkg/proc/variables.go, GoroutinesInfo). A terminal would print their stacks for hours.
const (
	probed          = 100 // goroutines that are asked for first
	shownUnreadable = 10
)

// listBounded lists goroutines as Delve does, unless the first ones all cannot be read: then it shows some of these, and no more.
func listBounded(d interface {
	ListGoroutines(rpc2.ListGoroutinesIn, *rpc2.ListGoroutinesOut) error
}, arg rpc2.ListGoroutinesIn, out *rpc2.ListGoroutinesOut) error {
	if arg.Count > 0 && arg.Count <= probed || arg.EvalScope != nil {
		return d.ListGoroutines(arg, out)
	}
	first := rpc2.ListGoroutinesIn{Start: arg.Start, Count: probed}
	var some rpc2.ListGoroutinesOut
	if err := d.ListGoroutines(first, &some); err != nil {
		return err
	}
	readable := func(g *api.Goroutine) bool { return g.Unreadable == "" }
	if len(some.Goroutines) < probed || slices.ContainsFunc(some.Goroutines, readable) {
		return d.ListGoroutines(arg, out)
	}
	out.Goroutines, out.Nextg = some.Goroutines[:shownUnreadable], -1
	last := *out.Goroutines[shownUnreadable-1]
	last.Unreadable += "; nor can those behind it be read: the program's list of goroutines is damaged"
	out.Goroutines[shownUnreadable-1] = &last
	return nil
}
