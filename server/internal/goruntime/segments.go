package goruntime

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/unwind"
)

// MadeByGo reports whether Go's runtime created the thread with that runtime.g: a
// thread that C created and that has called Go is an extra one.
func (r *Runtime) MadeByGo(gaddr uint64) bool {
	if r.Layout == nil || gaddr == 0 || r.Layout.mIsExtra < 0 {
		return false
	}
	g, err := r.readG(gaddr)
	if err != nil || g.m == 0 {
		return false
	}
	var extra [1]byte
	return r.Memory.ReadMemory(g.m+uint64(r.Layout.mIsExtra), extra[:]) == nil && extra[0] == 0
}

// UserG is the goroutine that the thread with that g0 has, or the g0 itself.
func (r *Runtime) UserG(g0 uint64) uint64 {
	return cmp.Or(r.ReadPointer(r.ReadPointer(g0, r.Layout.gM), r.Layout.mCurg), g0)
}

// segments lists the stacks of a thread: the user goroutine's, the system
// stack's (g0), the signal stack's. The system stack of a thread that C made
// reaches beyond what Go knows of it, up to the end of its mapping. A thread
// without Go has the writable mapping that SP lies in; so has one on an unknown
// stack (an alternative signal stack of C's).
func (r *Runtime) segments(th *Thread, gaddr, sp uint64, maps []imagemap.Mapping) {
	if r.Layout == nil {
		th.Segments = writable(maps)
		return
	}
	if gaddr != 0 {
		if g, err := r.readG(gaddr); err == nil && g.m != 0 {
			r.goSegments(th, g, maps)
		}
	}
	for _, seg := range th.Segments {
		if seg.Contains(sp) {
			return
		}
	}
	if m, ok := mappingAt(maps, sp); ok && strings.HasPrefix(m.Perm, "rw") { // not a guard page
		kind := unwind.SegmentThread
		if th.Goroutine != 0 {
			kind = unwind.SegmentSignal
		}
		th.Segments = append(th.Segments, unwind.Segment{Low: m.Start, High: m.End, Kind: kind})
	}
}

// goSegments adds the stacks of a thread that runs the goroutine g, and the saved
// state of the user goroutine.
func (r *Runtime) goSegments(th *Thread, g goroutine, maps []imagemap.Mapping) {
	add := func(addr uint64, kind unwind.SegmentKind) (goroutine, bool) { return r.addStack(th, addr, kind) }
	th.m = g.m
	user := r.ReadPointer(g.m, r.Layout.mCurg)
	if curg, ok := add(user, unwind.SegmentGoroutine); ok {
		th.Goroutine, th.Saved, th.State = curg.id, curg.saved(r.Arch), &curg.state
		if curg.lockedM == g.m {
			th.State.LockedThread = th.ID
		}
	} else if user == 0 {
		th.Saved = &unwind.Saved{} // it runs no goroutine
	}
	signal, _ := add(r.ReadPointer(g.m, r.Layout.mGsignal), unwind.SegmentSignal)
	if g0, ok := add(r.ReadPointer(g.m, r.Layout.mG0), unwind.SegmentG0); ok {
		m, found := mappingAt(maps, g0.hi-1)
		inGoHeap := signal.hi != 0 && signal.lo >= m.Start && signal.lo < m.End
		if found && !inGoHeap {
			last := &th.Segments[len(th.Segments)-1]
			last.Low, last.High = m.Start, m.End
		}
	}
}

// addStack adds the stack of the runtime.g at addr.
func (r *Runtime) addStack(th *Thread, addr uint64, kind unwind.SegmentKind) (goroutine, bool) {
	if addr == 0 {
		return goroutine{}, false
	}
	g, err := r.readG(addr)
	if err != nil || g.lo >= g.hi {
		return goroutine{}, false
	}
	th.Segments = append(th.Segments, unwind.Segment{Low: g.lo, High: g.hi, Kind: kind})
	return g, true
}

// writable makes a segment of every writable mapping, for programs whose runtime's
// structures are unknown.
func writable(maps []imagemap.Mapping) (segs []unwind.Segment) {
	for _, m := range maps {
		if strings.HasPrefix(m.Perm, "rw") {
			segs = append(segs, unwind.Segment{Low: m.Start, High: m.End, Kind: unwind.SegmentThread})
		}
	}
	return segs
}

// mappingAt finds the mapping of an address: thousands of threads have as many mappings.
func mappingAt(maps []imagemap.Mapping, addr uint64) (imagemap.Mapping, bool) {
	i := sort.Search(len(maps), func(i int) bool { return maps[i].End > addr })
	if i == len(maps) || addr < maps[i].Start { // none, or those of a core file, in another order
		i = slices.IndexFunc(maps, func(m imagemap.Mapping) bool { return addr >= m.Start && addr < m.End })
	}
	if i < 0 {
		return imagemap.Mapping{}, false
	}
	return maps[i], true
}

// LibraryG is the address of the runtime.g of a thread whose Go code is in a library,
// 0 if it has none. A candidate is a g if the runtime.m that it names refers to it.
func (r *Runtime) LibraryG(tls uint64, slots []uint64) uint64 {
	for _, slot := range slots {
		addr := r.ReadPointer(tls+r.ReadPointer(slot, 0), 0)
		if addr == 0 {
			continue
		}
		g, err := r.readG(addr)
		if err != nil || g.m == 0 {
			continue
		}
		for _, field := range []int64{r.Layout.mCurg, r.Layout.mG0, r.Layout.mGsignal} {
			if r.ReadPointer(g.m, field) == addr {
				return addr
			}
		}
	}
	return 0
}
