package goruntime

import (
	"errors"
	"fmt"
	"slices"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/unwind/gocode"
	"github.com/clewdbg/clew/unwind"
)

// Bulk is what to read of a program to know all its goroutines and threads: the
// structures first, and then the stacks, which those name.
type Bulk struct {
	Runtime *Runtime
	AllM    uint64 // address of runtime.allm
	Address func(name string) (uint64, error)
	Late    func() bool // ends a list that has no end; nil: never
}

var errUnreadable = errors.New("the memory cannot be read")

// ErrNoThreads says that the list of the runtime's threads cannot be read.
var ErrNoThreads = errors.New("the list of the runtime's threads is not known")

// maxThreads bounds what a corrupt list can make us read.
const maxThreads = 1 << 20

// Machines maps the threads of the runtime by their IDs to a runtime.g of each: its g0.
func (b *Bulk) Machines() (map[uint64]uint64, error) {
	r, l := b.Runtime, b.Runtime.Layout
	if b.AllM == 0 || l.mProcid < 0 || l.mAllLink < 0 {
		return nil, ErrNoThreads
	}
	out := make(map[uint64]uint64)
	var wrong error
	at := r.ReadPointer(b.AllM, 0)
	for i := range maxThreads {
		if b.Late != nil && i%256 == 255 && b.Late() {
			return out, nil
		}
		if at == 0 && len(out) == 0 && wrong != nil {
			return nil, wrong
		}
		if at == 0 {
			return out, nil
		}
		id, g0 := r.ReadPointer(at, l.mProcid), r.ReadPointer(at, l.mG0)
		_, twice := out[id] // the newest comes first
		switch {
		case id == 0 || g0 == 0 || twice:
		case r.ReadPointer(g0, l.gM) != at:
			wrong = fmt.Errorf("runtime.m at %#x and its g0 do not name each other", at) // a corrupt one is a thread without a goroutine
		default:
			out[id] = g0
		}
		at = r.ReadPointer(at, l.mAllLink)
	}
	return nil, fmt.Errorf("the list of the runtime's threads has no end")
}

// belowSP is where the frame record of a Go function on arm64 is (R12), rounded up.
const belowSP = 16

// maxStack bounds a goroutine's stack, in bytes: the runtime's own limit on 64 bits.
// mostOfStack is how much of one is copied.
const (
	maxStack    = 1 << 30
	mostOfStack = 64 << 20
)

// OfThread lists what is in use of the stacks of a thread: what its frames are on, and what they can be on, too.
func (b *Bulk) OfThread(th *Thread, sp uint64, maps []imagemap.Mapping) (inUse, fringes []unwind.Range) {
	const (
		redZone = 128      // below SP, which signal handlers and leaves use
		fringe  = 64 << 10 // of a system stack that SP is not on
	)
	for _, s := range th.Segments {
		low, high := s.Low, s.High
		to := &inUse
		switch {
		case sp >= s.Low && sp < s.High:
			low = max(low, sp-redZone)
		case s.Kind == unwind.SegmentG0 || s.Kind == unwind.SegmentThread:
			low, to = max(low, high-min(high, fringe)), &fringes
		case s.Kind == unwind.SegmentSignal:
			to = &fringes
		}
		*to = append(*to, unwind.Range{Start: low, End: min(high, low+mostOfStack)})
	}
	if m, ok := mappingAt(maps, sp); ok && len(inUse) == 0 {
		inUse = append(inUse, unwind.Range{Start: sp - min(sp, redZone), End: min(m.End, sp+mostOfStack)})
	}
	empty := func(r unwind.Range) bool { return r.End <= r.Start }
	return slices.DeleteFunc(inUse, empty), slices.DeleteFunc(fringes, empty)
}

// DescribedLayout reads the layout from type descriptors, and compares it with what the
// runtime's own code says where that is read.
func DescribedLayout(arch unwind.Arch, t *Types, code gocode.Code) (*Layout, error) {
	g, m := t.Structure("runtime.g"), t.Structure("runtime.m")
	if g == nil || m == nil {
		return nil, errors.New("the program has no descriptors of runtime.g and runtime.m")
	}
	l, err := NewLayout(g, m, t.Structure)
	if err != nil {
		return nil, err
	}
	if err := l.witnessed(arch, code); err != nil {
		return nil, err
	}
	c, err := gocode.ReadLayout(arch, code)
	if err != nil {
		return l, nil // a position-independent program: the contents of the structures prove it, see Machines
	}
	for _, f := range []struct {
		name             string
		described, coded int64
	}{
		{"runtime.g.stack.lo", l.gStackLo, c.StackLo}, {"runtime.g.stack.hi", l.gStackHi, c.StackHi}, {"runtime.g.m", l.gM, c.M},
		{"runtime.g.sched.pc", l.gSchedPC, c.SchedPC}, {"runtime.g.sched.sp", l.gSchedSP, c.SchedSP}, {"runtime.g.sched.bp", l.gSchedBP, c.SchedBP},
		{"runtime.m.g0", l.mG0, c.G0}, {"runtime.m.gsignal", l.mGsignal, c.Gsignal}, {"runtime.m.curg", l.mCurg, c.Curg},
	} {
		if f.described != f.coded {
			return nil, fmt.Errorf("the place of %s is %d by its descriptor and %d by the code: the runtime is not known", f.name, f.described, f.coded)
		}
	}
	return l, nil
}

// witnesses are functions of the runtime that use a field, by the names that they have in
// Go 1.21 to 1.27. One of them must have code that accesses the described place.
var witnesses = []struct {
	field     string
	at        func(*Layout) int64
	functions []string
}{
	{"runtime.g.atomicstatus", func(l *Layout) int64 { return l.gStatus }, []string{"runtime.casgstatus", "runtime.ready"}},
	{"runtime.g.goid", func(l *Layout) int64 { return l.gGoid }, []string{"runtime.newproc1", "runtime.goroutineheader"}},
	{"runtime.g.waitreason", func(l *Layout) int64 { return l.gWaitReason }, []string{"runtime.goroutineheader", "runtime.gopark"}},
	{"runtime.g.waitsince", func(l *Layout) int64 { return l.gWaitSince }, []string{"runtime.goroutineheader", "runtime.execute"}},
	{"runtime.g.gopc", func(l *Layout) int64 { return l.gGoPC }, []string{"runtime.newproc1"}},
	{"runtime.g.startpc", func(l *Layout) int64 { return l.gStartPC }, []string{"runtime.newproc1"}},
	{"runtime.g.parentGoid", func(l *Layout) int64 { return l.gParent }, []string{"runtime.newproc1"}},
	{"runtime.g.labels", func(l *Layout) int64 { return l.gLabels }, []string{"runtime.newproc1"}},
	{"runtime.g.lockedm", func(l *Layout) int64 { return l.gLockedM }, []string{"runtime.goroutineheader", "runtime.schedule"}},
	{"runtime.g.syscallsp", func(l *Layout) int64 { return l.gSyscallSP }, []string{"runtime.reentersyscall"}},
	{"runtime.g.syscallpc", func(l *Layout) int64 { return l.gSyscallPC }, []string{"runtime.reentersyscall"}},
	{"runtime.g.waiting", func(l *Layout) int64 { return l.gWaiting }, []string{"runtime.chanrecv", "runtime.chansend"}},
	{"runtime.m.procid", func(l *Layout) int64 { return l.mProcid }, []string{"runtime.minit", "runtime.mstart1"}},
	{"runtime.m.alllink", func(l *Layout) int64 { return l.mAllLink }, []string{"runtime.mcommoninit"}},
}

// witnessed compares the described fields with code that uses them.
func (l *Layout) witnessed(arch unwind.Arch, code gocode.Code) error {
	if arch != unwind.AMD64 {
		return nil // no code is read: what the structures hold proves them, see Machines
	}
	uses := func(at int64, functions ...string) bool {
		return slices.ContainsFunc(functions, func(name string) bool {
			used, _ := gocode.Offsets(arch, code, name)
			return used[at]
		})
	}
	if !uses(l.pStatus, "runtime.(*p).init", "runtime.schedtrace") {
		l.pStatus = -1 // stacks do not need it
	}
	for _, w := range witnesses {
		if at := w.at(l); at >= 0 && !uses(at, w.functions...) {
			return fmt.Errorf("the place of %s is %d by its descriptor, and no code that should use it does: the runtime is not known", w.field, at)
		}
	}
	return nil
}

// Structures are the names of the structures that layouts are made of.
var Structures = []string{"runtime.g", "runtime.m", "runtime.p", "runtime.sudog", "runtime.mstats", "runtime.ancestorInfo"}

// Warm reads the words for wait reasons, so that notes have them.
func (n *Notes) Warm() {
	const reasons = 64 // there were 47 in Go 1.27
	for i := range uint8(reasons) {
		n.WaitReason(&State{Status: statusWaiting, WaitReason: i})
	}
	n.Scheduler()
}
