package terminal

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"
)

// manyGoroutines are Delve's methods, of a program that claims so many goroutines, of which the first can be read.
type manyGoroutines struct {
	fakeMethods
	claimed, readable int
	different         int // of those that can be read, 0 for all
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
		if m.different > 0 {
			g.ID = int64(i%m.different + 1)
		}
		if i >= m.readable {
			g = &api.Goroutine{Unreadable: "EOF"}
		}
		out.Goroutines = append(out.Goroutines, g)
		m.listed++
	}
	return nil
}

// TestRepeatedList: a list ends where goroutines follow that it has already.
func TestRepeatedList(t *testing.T) {
	m := &manyGoroutines{claimed: 1 << 20, readable: 1 << 20, different: 3}
	var out rpc2.ListGoroutinesOut
	if err := listBounded(m, rpc2.ListGoroutinesIn{Count: 10000}, &out); err != nil {
		t.Fatal(err)
	}
	last := out.Goroutines[len(out.Goroutines)-1].Unreadable
	if len(out.Goroutines) != 3+maxUnreadable+1 || !strings.Contains(last, "is damaged") || out.Nextg != -1 || m.listed > listedAtOnce {
		t.Errorf("%d goroutines, next %d, %d listed, the last %q", len(out.Goroutines), out.Nextg, m.listed, last)
	}
}

// TestDamagedList: a list ends where only goroutines follow that cannot be read; other lists are as Delve has them.
func TestDamagedList(t *testing.T) {
	for _, c := range []struct {
		name                           string
		claimed, readable, count, want int
		next                           int
		damaged                        bool
	}{
		{"damaged", 1 << 20, 0, 0, maxUnreadable + 1, -1, true},
		{"damaged, a batch", 1 << 20, 0, 10000, maxUnreadable + 1, -1, true},
		{"damaged behind some", 1 << 20, 2 * listedAtOnce, 0, 2*listedAtOnce + maxUnreadable + 1, -1, true},
		{"few that cannot be read", 5000, 5000 - maxUnreadable, 0, 5000, -1, false},
		{"a few asked for", 1 << 20, 0, 50, 50, 50, false},
		{"a batch", 5000, 5000, 2500, 2500, 2500, false},
		{"whole", 5000, 5000, 0, 5000, -1, false},
	} {
		m := &manyGoroutines{claimed: c.claimed, readable: c.readable}
		var out rpc2.ListGoroutinesOut
		if err := listBounded(m, rpc2.ListGoroutinesIn{Count: c.count}, &out); err != nil {
			t.Fatal(err)
		}
		last := out.Goroutines[len(out.Goroutines)-1].Unreadable
		if len(out.Goroutines) != c.want || m.listed > c.want+listedAtOnce || strings.Contains(last, "is damaged") != c.damaged || out.Nextg != c.next {
			t.Errorf("%s: %d goroutines, next %d, %d listed, the last %q", c.name, len(out.Goroutines), out.Nextg, m.listed, last)
		}
	}
}

// TestDamagedListing: a listing ends where only goroutines follow that cannot be read, and says so. Found by integration/hostile/mutated.
func TestDamagedListing(t *testing.T) {
	fine, broken := &api.Goroutine{ID: 1}, &api.Goroutine{Unreadable: "no memory"}
	rows := slices.Repeat([]*api.Goroutine{broken}, maxUnreadable)
	whole := slices.Concat(rows, []*api.Goroutine{fine}, rows)
	for _, c := range []struct {
		name       string
		list       []*api.Goroutine
		want, next int
	}{
		{"a reader's page", whole, len(whole), 7},
		{"damaged", append(slices.Clone(whole), broken, fine), len(whole) + 1, -1},
	} {
		out := &rpc2.ListGoroutinesOut{Goroutines: c.list, Nextg: 7}
		(&damage{seen: make(map[int64]bool)}).end(out)
		if len(out.Goroutines) != c.want || out.Nextg != c.next {
			t.Errorf("%s: %d goroutines, next %d; want %d, %d", c.name, len(out.Goroutines), out.Nextg, c.want, c.next)
		}
		if last := out.Goroutines[len(out.Goroutines)-1]; c.next < 0 && !strings.Contains(last.Unreadable, "is damaged") {
			t.Errorf("%s: the last one says %q", c.name, last.Unreadable)
		}
	}
}
