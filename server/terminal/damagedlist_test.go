package terminal

import (
	"strings"
	"testing"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"
)

// manyGoroutines are Delve's methods, of a program that claims so many goroutines, of which the first can be read.
type manyGoroutines struct {
	fakeMethods
	claimed, readable int
	listed            int // goroutines that were answered with
}

func (m *manyGoroutines) ListGoroutines(arg rpc2.ListGoroutinesIn, out *rpc2.ListGoroutinesOut) error {
	out.Nextg = -1
	for i := arg.Start; i < m.claimed; i++ {
		if arg.Count > 0 && len(out.Goroutines) == arg.Count {
			out.Nextg = i
			break
		}
		g := &api.Goroutine{ID: int64(i + 1)}
		if i >= m.readable {
			g = &api.Goroutine{Unreadable: "EOF"}
		}
		out.Goroutines = append(out.Goroutines, g)
		m.listed++
	}
	return nil
}

// TestDamagedList: of a list whose goroutines cannot be read a few are shown, with the reason; other lists are as Delve has them.
func TestDamagedList(t *testing.T) {
	for _, c := range []struct {
		name                                 string
		claimed, readable, count, want, most int
		damaged                              bool
	}{
		{"damaged", 1 << 20, 0, 0, shownUnreadable, probed, true},
		{"damaged, a batch", 1 << 20, 0, 10000, shownUnreadable, probed, true},
		{"few that cannot be read", probed - 1, 0, 0, probed - 1, 2 * probed, false},
		{"one of the first can be read", 5000, 1, 0, 5000, 5000 + probed, false},
		{"a few asked for", 1 << 20, 0, 50, 50, 50, false},
		{"whole", 5000, 5000, 1000, 1000, 1000 + probed, false},
	} {
		m := &manyGoroutines{claimed: c.claimed, readable: c.readable}
		var out rpc2.ListGoroutinesOut
		if err := listBounded(m, rpc2.ListGoroutinesIn{Count: c.count}, &out); err != nil {
			t.Fatal(err)
		}
		last := out.Goroutines[len(out.Goroutines)-1].Unreadable
		if len(out.Goroutines) != c.want || m.listed > c.most || strings.Contains(last, "is damaged") != c.damaged || c.damaged && out.Nextg != -1 {
			t.Errorf("%s: %d goroutines, next %d, %d listed, the last %q", c.name, len(out.Goroutines), out.Nextg, m.listed, last)
		}
	}
}
