package goruntime

import (
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// copying copies from memory, until there is no more time.
type copying struct {
	memory words
	left   int // calls of Keep
	kept   []unwind.Range
}

func (c *copying) Late() bool { return c.left <= 0 }

func (c *copying) Keep(ranges []unwind.Range) bool {
	c.left--
	c.kept = append(c.kept, ranges...)
	return c.left > 0
}

func (c *copying) Read(ranges []unwind.Range) (out []unwind.Window) {
	for _, r := range ranges {
		data := make([]byte, r.End-r.Start)
		if c.memory.ReadMemory(r.Start, data) == nil {
			out = append(out, unwind.Window{Addr: r.Start, Data: data})
		}
	}
	return out
}

// TestCopy: of a list with a place that cannot be read and one that comes again, goroutines with a stack are there once, those in
// use on stacks are kept, and what there was no time for is counted.
func TestCopy(t *testing.T) {
	w := stopped()
	w[variables] = 5
	w[list+24], w[list+32] = 0xdead000, waitingG
	r := fakeRuntime(w)
	b := &Bulk{Runtime: r, Address: address}
	notes := r.Notes(address)
	copyAll := func(calls int) (*Goroutines, *copying) {
		c, gs := &copying{memory: w, left: calls}, &Goroutines{}
		if err := b.Copy(c, 0, notes, gs); err != nil {
			t.Fatal(err)
		}
		gs.Close()
		return gs, c
	}
	gs, c := copyAll(2)
	parts := gs.Parts(r, nil, 1)
	var ids []uint64
	var wrong []string
	for part := parts(); len(part) > 0; part = parts() {
		for _, th := range part {
			if th.Corrupt != nil {
				wrong = append(wrong, th.Corrupt.Error())
			} else {
				ids = append(ids, th.Goroutine)
			}
		}
	}
	slices.Sort(ids)
	if !slices.Equal(ids, []uint64{5, 6}) || gs.Count() != 2 {
		t.Errorf("goroutines %v, %d", ids, gs.Count())
	}
	if all := strings.Join(wrong, "\n"); !strings.Contains(all, "repeats 1 of its 5") || !strings.Contains(all, "0xdead000") {
		t.Errorf("%s", all)
	}
	if places, of, _ := gs.Left(); places != 0 || of != 5 {
		t.Errorf("%d of %d places are left", places, of)
	}
	if !slices.Contains(c.kept, unwind.Range{Start: 0xa200, End: 0xb000}) || !slices.Contains(c.kept, unwind.Range{Start: 0xc000, End: 0xd000}) {
		t.Errorf("kept %v", c.kept)
	}
	late, _ := copyAll(1)
	if places, of, _ := late.Left(); places != 5 || of != 5 || late.Next() != 0 || len(late.Parts(r, nil, 9)()) != 0 {
		t.Errorf("without time: %d of %d places are left, next is %d", places, of, late.Next())
	}
	if more := late.publish(func() { t.Error("published when it was closed") }); more {
		t.Error("more is copied when it was closed")
	}
	w[variables] = 1<<24 + 1
	if err := b.Copy(&copying{memory: w, left: 9}, 0, notes, &Goroutines{}); err == nil {
		t.Error("a list of more than 2^24 places")
	}
}

// TestPartsFirst: where goroutines come in parts, those on threads come first.
func TestPartsFirst(t *testing.T) {
	gs := &Goroutines{list: []goroutine{{id: 1, status: statusWaiting}, {id: 2, status: statusWaiting}, {id: 3, status: statusSyscall, m: anM}}}
	first := gs.Parts(fakeRuntime(words{}), nil, 2)()
	if len(first) != 2 || first[0].Goroutine != 3 || first[1].Goroutine != 1 {
		t.Errorf("%+v", first)
	}
}
