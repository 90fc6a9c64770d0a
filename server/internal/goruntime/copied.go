package goruntime

import (
	"fmt"
	"slices"
	"sort"
	"sync"

	"github.com/clewdbg/clew/unwind"
)

// Copier copies memory of a process that stands still.
type Copier interface {
	// Read reads ranges into memory that the next call uses again. What cannot be read is left out; the windows are sorted.
	Read(ranges []unwind.Range) []unwind.Window
	// Keep keeps ranges for later. It is false if there is no more time or room.
	Keep(ranges []unwind.Range) bool
	// Late says that there is no more time.
	Late() bool
}

// Goroutines are those of which a runtime.g was copied, with what they refer to. They fill while the process stands still, until
// they are closed.
type Goroutines struct {
	mu        sync.Mutex
	closed    bool
	list      []goroutine
	on        map[uint64]bool // those on threads, by their runtime.g
	places    uint64          // in the runtime's list
	next      uint64          // the first place that was not copied
	repeated  int             // places of the list that have what another has
	corrupt   []error
	corrupted int // of which corrupt has the first
	unlabeled int

	order []uint32 // of the list, by ID
}

// Bounds on what is kept of the goroutines of one stop.
const (
	maxCopied   = 5 << 18 // runtime.g, of 200 bytes each
	maxLabelled = 1 << 16 // sets of labels
	atOnce      = 4096    // places of the list
	keptErrors  = 4
)

// Left says what was not copied: places of the runtime's list, of how many, and labels.
func (gs *Goroutines) Left() (places, of uint64, labels int) {
	return gs.places - min(gs.next, gs.places), gs.places, gs.unlabeled
}

// Next is the place of the list with which another stop may go on.
func (gs *Goroutines) Next() uint64 { return gs.next }

// Reserve makes room for so many, where earlier ones had theirs if those are not nil. They are lost.
func (gs *Goroutines) Reserve(n uint64, earlier *Goroutines) {
	if n = min(n, maxCopied); earlier != nil && uint64(cap(earlier.list)) >= n {
		gs.list, earlier.list, earlier.order = earlier.list[:0], nil, nil
		return
	}
	gs.list = make([]goroutine, 0, n)
	for at := range gs.list[:cap(gs.list)] { // the kernel takes longer to make memory than to fill it
		gs.list[:cap(gs.list)][at].addr = 0
	}
}

// Close ends the copying.
func (gs *Goroutines) Close() {
	gs.mu.Lock()
	gs.closed = true
	gs.mu.Unlock()
}

// sort makes the order.
func (gs *Goroutines) sort() {
	if gs.order != nil {
		return
	}
	for i := range gs.list {
		if gs.list[i].hasStack() {
			gs.order = append(gs.order, uint32(i))
		}
	}
	id := func(i uint32) uint64 { return gs.list[i].id }
	slices.SortStableFunc(gs.order, func(a, b uint32) int {
		if id(a) < id(b) {
			return -1
		} else if id(a) > id(b) {
			return 1
		}
		return 0
	})
	all := len(gs.order)
	gs.order = slices.CompactFunc(gs.order, func(a, b uint32) bool { return id(a) == id(b) })
	gs.repeated += all - len(gs.order)
}

// Count is how many there are, once they are sorted.
func (gs *Goroutines) Count() int { return len(gs.order) }

// first puts those first that are on a thread, or have one for themselves.
func (gs *Goroutines) first() {
	rank := func(i uint32) int {
		if g := &gs.list[i]; g.onThread() || g.lockedM != 0 {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(gs.order, func(a, b uint32) int { return rank(a) - rank(b) })
}

// publish adds goroutines; more is false if they are closed.
func (gs *Goroutines) publish(add func()) (more bool) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if !gs.closed {
		add()
	}
	return !gs.closed
}

// CopyOn copies the goroutines that the threads run.
func (b *Bulk) CopyOn(c Copier, threads []Thread, notes *Notes, gs *Goroutines) {
	on := make(map[uint64]bool, len(threads))
	var addrs []uint64
	for i := range threads {
		if s := threads[i].Saved; s != nil && s.G != 0 && threads[i].Goroutine != 0 {
			on[s.G] = true
			addrs = append(addrs, s.G)
		}
	}
	gs.publish(func() { gs.on = on })
	b.copyThese(c, addrs, notes, gs, func() {})
}

// Copy copies the goroutines of the runtime's list, from a place on, as far as there is time and room.
func (b *Bulk) Copy(c Copier, first uint64, notes *Notes, gs *Goroutines) error {
	at, n, err := b.Runtime.list(b.Address)
	if err != nil {
		return fmt.Errorf("list goroutines: %w", err)
	}
	first = min(first, n)
	gs.publish(func() { gs.places, gs.next = n, first })
	for place := first; place < n && !c.Late() && len(gs.list) < maxCopied; {
		count := min(atOnce, n-place)
		r := unwind.Range{Start: at + 8*place, End: at + 8*(place+count)}
		found := c.Read([]unwind.Range{r})
		if len(found) == 0 && c.Late() {
			return nil
		}
		if len(found) == 0 {
			return fmt.Errorf("list goroutines: %w", &unwind.MemoryError{Addr: r.Start, Size: int(8 * count), Err: errUnreadable})
		}
		addrs := make([]uint64, count)
		for i := range addrs {
			addrs[i] = order.Uint64(found[0].Data[8*i:])
		}
		place += count
		if !b.copyThese(c, addrs, notes, gs, func() { gs.next = place }) {
			return nil
		}
	}
	return nil
}

// copyThese copies the goroutines at these addresses, all or none. done is called with what was copied.
func (b *Bulk) copyThese(c Copier, addrs []uint64, notes *Notes, gs *Goroutines, done func()) bool {
	all := len(addrs)
	slices.Sort(addrs)
	addrs = slices.Compact(addrs)
	repeated := all - len(addrs)
	if len(gs.list) > 0 {
		addrs = slices.DeleteFunc(addrs, func(a uint64) bool { return gs.on[a] })
	}
	list, unreadable := b.read(c, addrs, gs.list[len(gs.list):])
	stacks, sudogs := b.refersTo(list)
	if c.Late() || !c.Keep(stacks) { // what was read late may lack some
		return false
	}
	b.channels(list, c.Read(sudogs))
	unlabeled := 0
	for i := range list {
		s := &list[i].state
		if s.labels != 0 && len(notes.labels) >= maxLabelled && notes.labels[s.labels] == nil {
			unlabeled++
		} else if s.labels != 0 {
			notes.Labels(s)
		}
		if s.ancestors != 0 {
			notes.Ancestors(s)
		}
	}
	return gs.publish(func() {
		gs.list = append(gs.list, list...)
		gs.repeated += repeated
		gs.unlabeled += unlabeled
		gs.corrupted += len(unreadable)
		for _, a := range unreadable[:min(len(unreadable), max(keptErrors-len(gs.corrupt), 0))] {
			gs.corrupt = append(gs.corrupt, fmt.Errorf("runtime.g at %#x: %w", a, errUnreadable))
		}
		done()
	})
}

// read reads the runtime.g at sorted addresses, and adds them to a list.
func (b *Bulk) read(c Copier, addrs []uint64, list []goroutine) (_ []goroutine, unreadable []uint64) {
	l := b.Runtime.Layout
	size := uint64(l.gSize)
	if l.gSize <= 0 || l.gSize > 1<<16 {
		return nil, addrs
	}
	ranges := make([]unwind.Range, 0, len(addrs))
	for _, a := range addrs {
		if a != 0 && a+size > a {
			ranges = append(ranges, unwind.Range{Start: a, End: a + size})
		}
	}
	found := c.Read(ranges)
	for _, a := range addrs {
		data := within(found, a, size)
		if data == nil {
			unreadable = append(unreadable, a)
			continue
		}
		list = append(list, l.parse(a, data))
	}
	return list, unreadable
}

// within returns the bytes of a range, nil if no window has all.
func within(sorted []unwind.Window, addr, size uint64) []byte {
	i := sort.Search(len(sorted), func(i int) bool { return sorted[i].Addr > addr }) - 1
	if i < 0 || addr-sorted[i].Addr+size > uint64(len(sorted[i].Data)) {
		return nil
	}
	return sorted[i].Data[addr-sorted[i].Addr:][:size]
}

// refersTo lists what is in use of the goroutines' stacks, and the channels' places in what they wait with.
func (b *Bulk) refersTo(list []goroutine) (stacks, sudogs []unwind.Range) {
	l := b.Runtime.Layout
	for i := range list {
		g := &list[i]
		if !g.hasStack() {
			continue
		}
		if r, ok := b.stackOf(g); ok {
			stacks = append(stacks, r)
		}
		if at := g.state.waiting + uint64(l.sudogC); g.state.waiting != 0 && l.sudogC >= 0 && g.state.Waits() && at+8 > at {
			sudogs = append(sudogs, unwind.Range{Start: at, End: at + 8})
		}
	}
	return stacks, sudogs
}

// stackOf is what is in use of a goroutine's stack.
func (b *Bulk) stackOf(g *goroutine) (unwind.Range, bool) {
	low := g.sp
	if g.status == statusRunning || low < g.lo || low >= g.hi {
		low = g.lo // of one that runs, its thread's registers say what is in use
	} else if b.Runtime.Arch == unwind.ARM64 {
		low = max(g.lo, low-belowSP)
	}
	return unwind.Range{Start: low, End: min(g.hi, low+mostOfStack)}, g.hi > low && g.hi-low <= maxStack
}

// channels notes the channels that goroutines wait on.
func (b *Bulk) channels(list []goroutine, found []unwind.Window) {
	for i := range list {
		s := &list[i].state
		if s.waiting == 0 || b.Runtime.Layout.sudogC < 0 || !s.Waits() {
			continue
		}
		if data := within(found, s.waiting+uint64(b.Runtime.Layout.sudogC), 8); data != nil {
			s.channel = order.Uint64(data)
		}
	}
}

// Parts returns the goroutines in the order of their IDs, some at a time: all of a million would take a gigabyte. Where there is
// more than one part, those on threads come first. The first part has those that cannot be read, too.
func (gs *Goroutines) Parts(r *Runtime, threads []Thread, most int) func() []Thread {
	gs.sort()
	if len(gs.order) > most {
		gs.first()
	}
	control, at, out := r.controls(threads), 0, gs.problems()
	return func() []Thread {
		end := min(at+most, len(gs.order))
		for _, i := range gs.order[at:end] {
			out = append(out, control(&gs.list[i]))
		}
		at = end
		part := out
		out = nil
		return part
	}
}

// problems are the goroutines that cannot be read.
func (gs *Goroutines) problems() (out []Thread) {
	if more := gs.corrupted - len(gs.corrupt); more > 0 {
		out = append(out, Thread{Corrupt: fmt.Errorf("%d more places of the runtime's list of goroutines name memory that cannot be read", more)})
	}
	if gs.repeated > 0 {
		out = append(out, Thread{Corrupt: fmt.Errorf("the runtime's list of goroutines repeats %d of its %d entries", gs.repeated, gs.places)})
	}
	for _, err := range gs.corrupt {
		out = append(out, Thread{Corrupt: err})
	}
	return out
}

// Count is how many places the runtime's list has, 0 if that is not known.
func (r *Runtime) Count(address func(name string) (uint64, error)) uint64 {
	if r.Layout == nil {
		return 0
	}
	_, n, err := r.list(address)
	if err != nil {
		return 0
	}
	return n
}
