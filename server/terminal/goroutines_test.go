package terminal

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"
)

// TestDamagedListing: a listing ends where only goroutines follow that cannot be read, and says so. Found by integration/mutated.
func TestDamagedListing(t *testing.T) {
	fine, broken := &api.Goroutine{ID: 1}, &api.Goroutine{Unreadable: "no memory"}
	rows := slices.Repeat([]*api.Goroutine{broken}, maxUnreadable)
	whole := slices.Concat(rows, []*api.Goroutine{fine}, rows)
	for _, c := range []struct {
		name       string
		list       []*api.Goroutine
		groups     []api.GoroutineGroup
		want, next int
	}{
		{"a reader's page", whole, nil, len(whole), 7},
		{"damaged", append(slices.Clone(whole), broken, fine), nil, len(whole) + 1, -1},
		{"grouped", slices.Repeat(rows, 2), []api.GoroutineGroup{{Count: 2 * maxUnreadable}}, 2 * maxUnreadable, 7},
	} {
		out := &rpc2.ListGoroutinesOut{Goroutines: c.list, Groups: c.groups, Nextg: 7}
		endDamaged(out)
		if len(out.Goroutines) != c.want || out.Nextg != c.next {
			t.Errorf("%s: %d goroutines, next %d; want %d, %d", c.name, len(out.Goroutines), out.Nextg, c.want, c.next)
		}
		if last := out.Goroutines[len(out.Goroutines)-1]; c.next < 0 && !strings.Contains(last.Unreadable, "is damaged") {
			t.Errorf("%s: the last one says %q", c.name, last.Unreadable)
		}
	}
}
