package delve

import (
	"fmt"
	"sort"
	"strings"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/unwind"
)

// Thread is a stopped thread of the target, or a goroutine that is parked.
type Thread struct {
	assembler.Thread
	// Current is set for the thread that stopped the program.
	Current bool
	// Runtime is set for a thread that Go's runtime made for itself and that runs
	// no goroutine now: an idle one, or its monitor.
	Runtime bool
}

// Threads gives every thread with its registers, its goroutine if it runs one,
// and the stacks that its frames can lie on. Claims are not filled in.
func (s *Session) Threads(maps []imagemap.Mapping) ([]Thread, error) {
	group, unlock := s.dbg.LockTargetGroup()
	defer unlock()
	t := group.Selected
	if valid, err := t.Valid(); !valid {
		return nil, err
	}
	list := t.ThreadList()
	sort.Slice(list, func(i, j int) bool { return list[i].ThreadID() < list[j].ThreadID() })
	out := make([]Thread, 0, len(list))
	for _, th := range list {
		thread, err := s.thread(t, th, maps)
		if err != nil {
			return nil, err
		}
		out = append(out, thread)
	}
	return out, nil
}

// CurrentThread gives the thread that stopped the program, as [Session.Threads]
// does, without reading the others.
func (s *Session) CurrentThread(maps []imagemap.Mapping) (Thread, error) {
	group, unlock := s.dbg.LockTargetGroup()
	defer unlock()
	t := group.Selected
	if valid, err := t.Valid(); !valid {
		return Thread{}, err
	}
	return s.thread(t, t.CurrentThread(), maps)
}

// thread reads one thread.
func (s *Session) thread(t *proc.Target, th proc.Thread, maps []imagemap.Mapping) (Thread, error) {
	s.loadLayout(t)
	regs, tls, err := registers(th)
	if err != nil {
		return Thread{}, fmt.Errorf("thread %d: %w", th.ThreadID(), err)
	}
	thread := Thread{
		Thread:  assembler.Thread{ID: uint64(th.ThreadID()), Registers: regs, FirstPC: unwind.KindInstruction},
		Current: th.ThreadID() == t.CurrentThread().ThreadID(),
	}
	sp, _ := regs.SP(arch(t))
	g := s.currentG(t, th, tls)
	s.segments(t, &thread.Thread, g, sp, maps)
	thread.Runtime = thread.Goroutine == 0 && s.madeByGo(t, g)
	return thread, nil
}

// Goroutines gives every goroutine with a stack: those that run on a thread
// with that thread's registers, the others as they were parked.
func (s *Session) Goroutines(threads []Thread) ([]Thread, error) {
	group, unlock := s.dbg.LockTargetGroup()
	defer unlock()
	t := group.Selected
	s.loadLayout(t)
	if s.layout == nil || s.layout.gGoid < 0 {
		return nil, fmt.Errorf("the program has no DWARF for runtime.g: its goroutines cannot be listed")
	}
	running := make(map[uint64]Thread, len(threads))
	for _, th := range threads {
		if th.Goroutine != 0 {
			running[th.Goroutine] = th
		}
	}
	addrs, err := s.allGs(t)
	if err != nil {
		return nil, fmt.Errorf("list goroutines: %w", err)
	}
	var out []Thread
	for _, addr := range addrs {
		g, err := s.readG(t, addr)
		if err != nil {
			return nil, fmt.Errorf("runtime.g at %#x: %w", addr, err)
		}
		if g.status == statusIdle || g.status == statusDead || g.id == 0 {
			continue
		}
		if th, ok := running[g.id]; ok {
			out = append(out, th)
			continue
		}
		out = append(out, parked(arch(t), g))
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Goroutine < out[j].Goroutine })
	return out, nil
}

// parked is a goroutine that no thread runs: its first PC is a return address
// (R9).
func parked(a unwind.Arch, g goroutine) Thread {
	th := Thread{Thread: assembler.Thread{
		Goroutine: g.id, FirstPC: unwind.KindReturn,
		Segments: []unwind.Segment{{Low: g.lo, High: g.hi, Kind: unwind.SegmentGoroutine}},
	}}
	if g.pc == g.start {
		th.FirstPC = unwind.KindInstruction // it has not run yet
	}
	th.Registers.Set(a.PC(), g.pc)
	th.Registers.Set(a.SP(), g.sp)
	th.Registers.Set(a.FP(), g.bp)
	return th
}

func (s *Session) loadLayout(t *proc.Target) {
	if s.layout == nil && !s.noLayout {
		var err error
		if s.layout, err = readLayout(t.BinInfo()); err != nil {
			s.layout, _ = codeLayout(arch(t), s.code) // nil: mappings have to do, see segments
			s.noLayout = s.layout == nil && s.code != nil
		}
	}
}

// currentG is the address of the runtime.g that the thread's TLS names, 0 for a
// thread that runs no Go code.
func (s *Session) currentG(t *proc.Target, th proc.Thread, tls uint64) uint64 {
	if s.layout == nil {
		return 0
	}
	regs, err := th.Registers()
	if err != nil {
		return 0
	}
	if addr, ok := regs.GAddr(); ok {
		return addr
	}
	if s.layout.tls != 0 {
		return s.readPointer(t, tls, s.layout.tls)
	}
	off, err := t.BinInfo().GStructOffset(th.ProcessMemory())
	if err != nil || tls == 0 {
		return 0
	}
	return s.readPointer(t, tls+off, 0)
}

// madeByGo says that the thread with that runtime.g is one of the runtime's own,
// and not C's that has called Go.
func (s *Session) madeByGo(t *proc.Target, gaddr uint64) bool {
	if s.layout == nil || gaddr == 0 || s.layout.mIsExtra < 0 {
		return false
	}
	g, err := s.readG(t, gaddr)
	if err != nil || g.m == 0 {
		return false
	}
	var extra [1]byte
	n, err := t.Memory().ReadMemory(extra[:], g.m+uint64(s.layout.mIsExtra))
	return err == nil && n == 1 && extra[0] == 0
}

// segments lists the stacks of a thread: the user goroutine's, the system
// stack's (g0), the signal stack's. The system stack of a thread that C made
// reaches beyond what Go knows of it, up to the end of its mapping. A thread
// without Go has the mapping that SP lies in; so has one on a stack that nobody
// knows (an alternative signal stack of C's).
func (s *Session) segments(t *proc.Target, th *assembler.Thread, gaddr, sp uint64, maps []imagemap.Mapping) {
	if s.layout == nil {
		th.Segments = writable(maps)
		return
	}
	if gaddr != 0 {
		if g, err := s.readG(t, gaddr); err == nil && g.m != 0 {
			s.goSegments(t, th, g, maps)
		}
	}
	for _, seg := range th.Segments {
		if seg.Contains(sp) {
			return
		}
	}
	if m, ok := mappingAt(maps, sp); ok {
		kind := unwind.SegmentThread
		if th.Goroutine != 0 {
			kind = unwind.SegmentSignal
		}
		th.Segments = append(th.Segments, unwind.Segment{Low: m.Start, High: m.End, Kind: kind})
	}
}

// goSegments lists the stacks of a thread that runs Go code, of the goroutine g,
// and what is saved of the user goroutine.
func (s *Session) goSegments(t *proc.Target, th *assembler.Thread, g goroutine, maps []imagemap.Mapping) {
	add := func(addr uint64, kind unwind.SegmentKind) (goroutine, bool) {
		if addr == 0 {
			return goroutine{}, false
		}
		other, err := s.readG(t, addr)
		if err != nil || other.lo >= other.hi {
			return goroutine{}, false
		}
		th.Segments = append(th.Segments, unwind.Segment{Low: other.lo, High: other.hi, Kind: kind})
		return other, true
	}
	user := s.readPointer(t, g.m, s.layout.mCurg)
	if curg, ok := add(user, unwind.SegmentGoroutine); ok {
		th.Goroutine, th.Saved = curg.id, &curg.sched
	} else if user == 0 {
		th.Saved = &assembler.Saved{} // it runs none
	}
	signal, _ := add(s.readPointer(t, g.m, s.layout.mGsignal), unwind.SegmentSignal)
	if g0, ok := add(s.readPointer(t, g.m, s.layout.mG0), unwind.SegmentG0); ok {
		m, found := mappingAt(maps, g0.hi-1)
		inGoHeap := signal.hi != 0 && signal.lo >= m.Start && signal.lo < m.End
		if found && !inGoHeap {
			last := &th.Segments[len(th.Segments)-1]
			last.Low, last.High = m.Start, m.End
		}
	}
}

// writable makes a segment of every writable mapping: all that can be said of
// stacks where the runtime's structures are unknown.
func writable(maps []imagemap.Mapping) (segs []unwind.Segment) {
	for _, m := range maps {
		if strings.HasPrefix(m.Perm, "rw") {
			segs = append(segs, unwind.Segment{Low: m.Start, High: m.End, Kind: unwind.SegmentThread})
		}
	}
	return segs
}

func mappingAt(maps []imagemap.Mapping, addr uint64) (imagemap.Mapping, bool) {
	for _, m := range maps {
		if addr >= m.Start && addr < m.End {
			return m, true
		}
	}
	return imagemap.Mapping{}, false
}

// arch is the target's architecture.
func arch(t *proc.Target) unwind.Arch {
	a, _ := unwind.ParseArch(t.BinInfo().Arch.Name)
	return a
}

// Arch is the target's architecture, and OS its operating system (GOOS).
func (s *Session) Arch() unwind.Arch { return arch(s.target()) }

// OS is the target's operating system (GOOS).
func (s *Session) OS() string { return s.target().BinInfo().GOOS }

// registers reads a thread's registers and its TLS base.
func registers(th proc.Thread) (out unwind.Registers, tls uint64, err error) {
	regs, err := th.Registers()
	if err != nil {
		return out, 0, err
	}
	slice, err := regs.Slice(false)
	if err != nil {
		return out, 0, err
	}
	a, _ := unwind.ParseArch(th.BinInfo().Arch.Name)
	for _, r := range slice {
		if reg, ok := a.ParseRegister(strings.ToLower(r.Name)); ok {
			out.Set(reg, r.Reg.Uint64Val)
		}
	}
	out.Set(a.PC(), regs.PC())
	out.Set(a.SP(), regs.SP())
	out.Set(a.FP(), regs.BP())
	return out, regs.TLS(), nil
}
