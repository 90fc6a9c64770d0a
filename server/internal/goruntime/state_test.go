package goruntime

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// str writes a Go string's header at addr, and its text at data.
func (w words) str(addr, data uint64, text string) {
	w[addr], w[addr+8] = data, uint64(len(text))
	for i := 0; i < len(text); i += 8 {
		var word uint64
		for j, c := range []byte(text[i:min(i+8, len(text))]) {
			word |= uint64(c) << (8 * j)
		}
		w[data+uint64(i)] = word
	}
}

func TestWaitReason(t *testing.T) {
	w := words{}
	w.str(0x1000+16*2, 0x2000, "chan receive")
	n := fakeRuntime(w).Notes(func(name string) (uint64, error) {
		if name == "runtime.waitReasonStrings" {
			return 0x1000, nil
		}
		return 0, errors.New("no " + name)
	})
	for status, want := range map[uint32]string{statusWaiting: "chan receive", statusLeaked: "chan receive", 2: ""} {
		if got := n.WaitReason(&State{Status: status, WaitReason: 2}); got != want {
			t.Errorf("status %d: %q", status, got)
		}
	}
	if got := n.WaitReason(&State{Status: statusWaiting, WaitReason: 9}); got != "" {
		t.Errorf("a reason that cannot be read: %q", got)
	}
}

// Go 1.24 has a slice of keys and values, earlier releases have a map.
func TestLabels(t *testing.T) {
	w := words{}
	const list, table, hmap, bucket = 0x1000, 0x3000, 0x4000, 0x5000
	w[list], w[list+8], w[list+16] = 0x1100, 1, 2
	w.str(0x1100, 0x2000, "worker")
	w.str(0x1110, 0x2100, "3")
	w[table], w[table+8], w[table+16] = hmap, 1, 1
	w[hmap], w[hmap+8], w[hmap+16] = 1, 0, bucket
	w[bucket] = 0x80 << 8 // the second place is taken
	w.str(bucket+8+16, 0x2000, "worker")
	w.str(bucket+8+8*16+16, 0x2100, "3")
	w[bucket+8+16*16] = 0
	n := fakeRuntime(w).Notes(func(string) (uint64, error) { return 0, errors.New("none") })
	for _, at := range []uint64{list, table} {
		if got := n.Labels(&State{labels: at}); len(got) != 1 || got["worker"] != "3" {
			t.Errorf("labels at %#x: %v", at, got)
		}
	}
	for _, at := range []uint64{0, hmap, 0xdead000} {
		if got := n.Labels(&State{labels: at}); len(got) != 0 {
			t.Errorf("labels at %#x: %v", at, got)
		}
	}
}

// A collection notes the time of the one before: the goroutine has waited since its
// own end only.
func TestWaitSince(t *testing.T) {
	n := &Notes{unix: 1000_000, nano: 500, collections: []int64{999_700, 999_800, 1000_000}} // on the other clock 200, 300, 500
	for since, want := range map[int64]int64{190: 999_800, 290: 1000_000, 490: 0, 0: 0} {
		got := n.WaitSince(&State{Status: statusWaiting, since: since})
		if want == 0 && !got.IsZero() || want != 0 && !got.Equal(time.Unix(0, want)) {
			t.Errorf("noted at %d: %v", since, got.UnixNano())
		}
	}
	if got := n.WaitSince(&State{Status: 2, since: 190}); !got.IsZero() {
		t.Errorf("a running goroutine waits since %v", got)
	}
}

// Where collections are not known, a later time that another goroutine notes counts.
func TestWaitSinceOfOthers(t *testing.T) {
	n := &Notes{}
	waits := func(since int64) goroutine { return goroutine{state: State{Status: statusWaiting, since: since}} }
	n.Compare(&Goroutines{list: []goroutine{waits(300), {}, waits(200), waits(0), waits(200), waits(500)}}, func(nano int64) time.Time { return time.Unix(0, nano) })
	for since, want := range map[int64]int64{200: 300, 300: 500, 500: 0, 0: 0} {
		got := n.WaitSince(&State{Status: statusWaiting, since: since})
		if want == 0 && !got.IsZero() || want != 0 && !got.Equal(time.Unix(0, want)) {
			t.Errorf("noted at %d: %v", since, got)
		}
	}
}

// TestAncestors: the slice of goroutines that led to one, with their calls; corrupt ones end.
func TestAncestors(t *testing.T) {
	w := words{}
	const slice, infos, pcs = 0x1000, 0x2000, 0x3000
	w[slice], w[slice+8] = infos, 2
	w[infos], w[infos+8], w[infos+0x18] = pcs, 2, 7
	w[infos+0x28], w[infos+0x28+8], w[infos+0x28+0x18] = pcs+8, 1, 1
	w[pcs], w[pcs+8] = 0x401, 0x402
	r := fakeRuntime(w)
	r.Layout.ancestorPCs, r.Layout.ancestorGoid, r.Layout.ancestorSize = 0, 0x18, 0x28
	n := r.Notes(func(string) (uint64, error) { return 0, errors.New("none") })
	got := n.Ancestors(&State{ancestors: slice})
	if len(got) != 2 || got[0].Goroutine != 7 || !slices.Equal(got[0].PCs, []uint64{0x401, 0x402}) || got[1].Goroutine != 1 || !slices.Equal(got[1].PCs, []uint64{0x402}) {
		t.Errorf("%+v", got)
	}
	w[slice+8], w[infos+8] = 1<<60, 1<<60
	if got := n.Ancestors(&State{ancestors: slice}); len(got) != maxAncestors || len(got[0].PCs) != 2 {
		t.Errorf("corrupt: %d ancestors", len(got))
	}
	if got := n.Ancestors(&State{}); got != nil {
		t.Errorf("none: %v", got)
	}
}
