package goruntime

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sort"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/unwind"
)

// Runtime reads the structures of Go's runtime about stacks from a stopped
// program's memory, here or on another machine.
type Runtime struct {
	Layout *Layout // nil where it is not known
	Arch   unwind.Arch
	Memory unwind.Memory
}

// Thread is a stopped thread of the target, or a goroutine that is parked.
type Thread struct {
	unwind.Thread
	// Current is set for the thread that stopped the program.
	Current bool
	// Runtime is set for a thread that Go's runtime made for itself and that runs
	// no goroutine now: an idle one, or its monitor.
	Runtime bool
	// State is the goroutine's, nil for a thread without one and where the layout is not known.
	State *State
	// Corrupt is why a goroutine cannot be read, not even its ID; nil for any other thread.
	Corrupt error
	m       uint64 // the runtime.m that it is, 0 if that is not known
}

// Thread returns a thread with its goroutine if it runs one, and the stacks that its
// frames can lie on. g is the address of its runtime.g, 0 if it runs no Go code.
func (r *Runtime) Thread(id uint64, regs unwind.Registers, g uint64, maps []imagemap.Mapping) Thread {
	th := Thread{Thread: unwind.Thread{ID: id, Registers: regs, FirstPC: unwind.KindInstruction}}
	sp, _ := regs.SP(r.Arch)
	r.segments(&th, g, sp, maps)
	th.Runtime = th.Goroutine == 0 && r.MadeByGo(g)
	return th
}

// Goroutine returns the ID and the end of the stack of the goroutine with the
// runtime.g at addr.
func (r *Runtime) Goroutine(addr uint64) (id, high uint64, err error) {
	g, err := r.readG(addr)
	return g.id, g.hi, err
}

// order is the byte order of every machine that Delve debugs Go on.
var order = binary.LittleEndian

// goroutine has the fields of a runtime.g that stacks need.
type goroutine struct {
	addr       uint64
	id         uint64
	status     uint32
	m, lockedM uint64 // lockedM is the thread that is reserved for it, 0 for none
	lo, hi     uint64
	sp, pc, bp uint64    // saved when it was parked or went into a system call
	start      uint64    // its first function
	sched      [4]uint64 // PC, SP, FP and LR that were saved when it was parked
	state      State
}

// States of a goroutine in which it has a stack to show (runtime/runtime2.go).
const (
	statusIdle    = 0
	statusRunning = 2
	statusSyscall = 3
	statusDead    = 6
	// statusDeadExtra is that of a thread which C has made, between calls of Go (Go 1.26).
	statusDeadExtra = 11
	statusScanBit   = 0x1000
	// maxGoroutines bounds what a corrupt length can make us read.
	maxGoroutines = 1 << 24
)

// readG reads the runtime.g at addr.
func (r *Runtime) readG(addr uint64) (goroutine, error) {
	l := r.Layout
	if l.gSize <= 0 || l.gSize > 1<<16 {
		return goroutine{addr: addr}, fmt.Errorf("runtime.g has %d bytes", l.gSize)
	}
	buf := make([]byte, l.gSize)
	if err := r.Memory.ReadMemory(addr, buf); err != nil {
		return goroutine{addr: addr}, err
	}
	return l.parse(addr, buf), nil
}

// parse reads the runtime.g at addr, whose bytes are buf.
func (l *Layout) parse(addr uint64, buf []byte) goroutine {
	g := goroutine{addr: addr}
	word := func(off int64) uint64 {
		if off < 0 || off+8 > int64(len(buf)) {
			return 0
		}
		return order.Uint64(buf[off:])
	}
	g.id, g.m, g.lockedM, g.start = word(l.gGoid), word(l.gM), word(l.gLockedM), word(l.gStartPC)
	g.lo, g.hi = word(l.gStackLo), word(l.gStackHi)
	g.status = uint32(word(l.gStatus)) &^ statusScanBit
	g.sp, g.pc, g.bp = word(l.gSchedSP), word(l.gSchedPC), word(l.gSchedBP)
	g.sched = [4]uint64{g.pc, g.sp, g.bp, word(l.gSchedLR)}
	g.state = l.state(g.status, word)
	if sp := word(l.gSyscallSP); g.status == statusSyscall && sp != 0 {
		g.sp, g.pc, g.bp = sp, word(l.gSyscallPC), word(l.gSyscallB)
	}
	return g
}

// saved is what was saved when it was parked.
func (g *goroutine) saved(a unwind.Arch) *unwind.Saved {
	out := &unwind.Saved{G: g.addr}
	for i, reg := range []unwind.Register{a.PC(), a.SP(), a.FP(), a.LR()} {
		if reg != unwind.NoRegister {
			out.Registers.Set(reg, g.sched[i])
		}
	}
	return out
}

// ReadPointer reads the pointer at base+off; it returns 0 if that fails.
func (r *Runtime) ReadPointer(base uint64, off int64) uint64 {
	var b [8]byte
	if base == 0 {
		return 0
	}
	if r.Memory.ReadMemory(base+uint64(off), b[:]) != nil {
		return 0
	}
	return order.Uint64(b[:])
}

// list is where the runtime's list of goroutines is, and its length. address finds a variable.
func (r *Runtime) list(address func(name string) (uint64, error)) (at, n uint64, err error) {
	read := func(name string) (uint64, error) {
		addr, err := address(name)
		var b [8]byte
		if err == nil {
			err = r.Memory.ReadMemory(addr, b[:])
		}
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		return order.Uint64(b[:]), nil
	}
	if n, err = read("runtime.allglen"); err != nil {
		return 0, 0, err
	}
	if n > maxGoroutines {
		return 0, 0, fmt.Errorf("runtime.allglen is %d", n)
	}
	at, err = read("runtime.allgptr")
	return at, n, err
}

// allGs returns the address of every runtime.g.
func (r *Runtime) allGs(address func(name string) (uint64, error)) ([]uint64, error) {
	ptr, n, err := r.list(address)
	if err != nil {
		return nil, err
	}
	var out []uint64
	const chunk = 8192
	for i := uint64(0); i < n; i += chunk {
		buf := make([]byte, 8*min(chunk, n-i))
		if err := r.Memory.ReadMemory(ptr+8*i, buf); err != nil {
			return nil, err
		}
		for ; len(buf) > 0; buf = buf[8:] {
			out = append(out, order.Uint64(buf))
		}
	}
	return out, nil
}

// Goroutines returns every goroutine with a stack: those that run on a thread
// with that thread's registers, the others as they were parked. One that cannot be read has
// its error and nothing else. One that a damaged list has again is left out: a core file of 8 MiB would have a million
// stacks to unwind.
func (r *Runtime) Goroutines(threads []Thread, address func(name string) (uint64, error)) ([]Thread, error) {
	if r.Layout == nil || r.Layout.gGoid < 0 {
		return nil, errNoGoroutines
	}
	addrs, err := r.allGs(address)
	if err != nil {
		return nil, fmt.Errorf("list goroutines: %w", err)
	}
	control := r.controls(threads)
	var out []Thread
	seen, numbers, again := make(map[uint64]bool, len(addrs)), make(map[uint64]bool), 0
	for _, addr := range addrs {
		if seen[addr] {
			again++
			continue
		}
		seen[addr] = true
		g, err := r.readG(addr)
		switch {
		case err != nil:
			out = append(out, Thread{Corrupt: fmt.Errorf("runtime.g at %#x: %w", addr, err)})
		case g.hasStack() && numbers[g.id]:
			again++
		case g.hasStack():
			numbers[g.id] = true
			out = append(out, control(&g))
		}
	}
	if again > 0 {
		out = append(out, Thread{Corrupt: fmt.Errorf("the runtime's list of goroutines repeats %d of its %d entries", again, len(addrs))})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Goroutine < out[j].Goroutine })
	return out, nil
}

// controls returns a function that returns a goroutine with its thread's registers, or as it was parked.
func (r *Runtime) controls(threads []Thread) func(*goroutine) Thread {
	running, byM := index(threads)
	return func(g *goroutine) Thread {
		state := g.state
		on, locked := byM[g.lockedM]
		if locked = locked && g.lockedM != 0; locked {
			state.LockedThread = on.ID
		}
		th, runs := running[g.id]
		if !runs {
			th = parked(r.Arch, g)
		}
		th.State = &state
		if runs {
			return th
		}
		if g.onThread() {
			th.Registers = unwind.Registers{} // those saved are old; no stack can be had of it
		}
		if locked {
			th.Segments = append(th.Segments, systemStacks(on.Segments)...)
		}
		return th
	}
}

// index maps threads by the goroutine that they run, and by their runtime.m.
func index(threads []Thread) (running, byM map[uint64]Thread) {
	running, byM = make(map[uint64]Thread, len(threads)), make(map[uint64]Thread, len(threads))
	for _, th := range threads {
		byM[th.m] = th
		if th.Goroutine != 0 {
			running[th.Goroutine] = th
		}
	}
	return running, byM
}

// onThread reports whether a thread has the goroutine: it runs, or it is in a system call
// or in C.
func (g *goroutine) onThread() bool {
	return g.m != 0 && (g.status == statusRunning || g.status == statusSyscall)
}

func (g *goroutine) hasStack() bool {
	return g.status != statusIdle && g.status != statusDead && g.status != statusDeadExtra && g.id != 0
}

var errNoGoroutines = errors.New("the program has no DWARF for runtime.g: its goroutines cannot be listed")

// systemStacks are a thread's stacks without its goroutine's.
//
// Situation: C has called Go, and that waits. The goroutine is on no thread, but no
// other may run on its thread until it has gone back to C, and C's frames are on that
// thread's system stack. Example: a callback that receives from a channel. Test: in
// integration, TestParkedInCallback.
func systemStacks(segments []unwind.Segment) (out []unwind.Segment) {
	for _, s := range segments {
		if s.Kind != unwind.SegmentGoroutine {
			out = append(out, s)
		}
	}
	return out
}

// parked is a goroutine that no thread runs: its first PC is a return address
// (R9).
func parked(a unwind.Arch, g *goroutine) Thread {
	th := Thread{Thread: unwind.Thread{
		Goroutine: g.id, FirstPC: unwind.KindReturn,
		Segments: []unwind.Segment{{Low: g.lo, High: g.hi, Kind: unwind.SegmentGoroutine}},
	}}
	if g.pc == g.start {
		th.FirstPC = unwind.KindInstruction // it has not run yet
		if a.LR() != unwind.NoRegister {
			th.Registers.Set(a.LR(), g.sched[3]) // of runtime.goexit (gostartcall)
		}
	}
	th.Registers.Set(a.PC(), g.pc)
	th.Registers.Set(a.SP(), g.sp)
	th.Registers.Set(a.FP(), g.bp)
	return th
}
