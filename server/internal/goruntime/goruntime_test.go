package goruntime

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/unwind"
)

// words is memory that consists of words; everything else cannot be read.
type words map[uint64]uint64

func (w words) ReadMemory(addr uint64, p []byte) error {
	for i := range p {
		at := addr + uint64(i)
		word, ok := w[at&^7]
		if !ok {
			return errors.New("not mapped")
		}
		p[i] = binary.LittleEndian.AppendUint64(nil, word)[at&7]
	}
	return nil
}

// at returns a layout with fields one word apart, and the runtime that reads it.
func fakeRuntime(memory words) *Runtime {
	return &Runtime{Arch: unwind.AMD64, Memory: memory, Layout: &Layout{
		gStackLo: 0, gStackHi: 8, gM: 16, gGoid: 24, gStatus: 32, gStartPC: 40, gSchedSP: 48, gSchedPC: 56, gSchedBP: 64,
		gSchedLR: -1, gSyscallSP: 72, gSyscallPC: 80, gSyscallB: 88, gLockedM: 96, gSize: 104,
		mG0: 0, mGsignal: 8, mCurg: 16, mIsExtra: 24,
	}}
}

// put writes a runtime.g.
func (w words) put(addr uint64, fields ...uint64) {
	for i := range 13 {
		w[addr+8*uint64(i)] = 0
	}
	for i, f := range fields {
		w[addr+8*uint64(i)] = f
	}
}

const (
	aG, aG0, aSignal, anM, waitingG, deadG = 0x1000, 0x2000, 0x3000, 0x4000, 0x5000, 0x6000
	list, variables                        = 0x7000, 0x8000
)

// stopped is a program with a thread that runs goroutine 5, goroutine 6 parked in a
// system call, and one that has ended.
func stopped() words {
	w := words{}
	w.put(aG, 0xc000, 0xd000, anM, 5, 2|statusScanBit, 0x400, 0xc100, 0x401, 0xc108)
	w.put(aG0, 0x7f00_0000, 0x7f01_0000, anM)
	w.put(aSignal, 0xe000, 0xf000, anM)
	w.put(waitingG, 0xa000, 0xb000, 0, 6, statusSyscall, 0x400, 0xa100, 0x401, 0xa108, 0xa200, 0x402, 0xa208, anM)
	w.put(deadG, 0, 0, 0, 7, statusDead)
	w[anM], w[anM+8], w[anM+16], w[anM+24] = aG0, aSignal, aG, 0
	w[list], w[list+8], w[list+16] = aG, waitingG, deadG
	w[variables], w[variables+8] = 3, list
	return w
}

func address(name string) (uint64, error) {
	switch name {
	case "runtime.allglen":
		return variables, nil
	case "runtime.allgptr":
		return variables + 8, nil
	}
	return 0, errors.New("no " + name)
}

func TestReadG(t *testing.T) {
	r := fakeRuntime(stopped())
	g, err := r.readG(aG)
	if err != nil || g.id != 5 || g.status != 2 || g.lo != 0xc000 || g.hi != 0xd000 || g.pc != 0x401 || g.sp != 0xc100 || g.bp != 0xc108 || g.m != anM {
		t.Errorf("%+v, %v", g, err)
	}
	// In a system call the state is that of its entry.
	if g, err = r.readG(waitingG); err != nil || g.pc != 0x402 || g.sp != 0xa200 || g.bp != 0xa208 || g.lockedM != anM {
		t.Errorf("%+v, %v", g, err)
	}
	if _, err = r.readG(0xdead000); err == nil {
		t.Error("what is not mapped was read")
	}
	for _, size := range []int64{0, -1, 1<<16 + 1} {
		r.Layout.gSize = size
		if _, err = r.readG(aG); err == nil {
			t.Errorf("a runtime.g of %d bytes", size)
		}
	}
}

func TestSegments(t *testing.T) {
	r := fakeRuntime(stopped())
	maps := []imagemap.Mapping{{Start: 0x7eff_0000, End: 0x7f02_0000, Perm: "rw-p"}, {Start: 0x9_0000, End: 0xa_0000, Perm: "rw-p"}, {Start: 0x100, End: 0x200, Perm: "r-xp"}}
	kinds := func(th Thread) (out []unwind.SegmentKind) {
		for _, s := range th.Segments {
			out = append(out, s.Kind)
		}
		return out
	}
	var th Thread
	r.segments(&th, aG, 0xc100, maps)
	if th.Goroutine != 5 || th.m != anM || th.Saved == nil || th.Saved.G != aG ||
		!slices.Equal(kinds(th), []unwind.SegmentKind{unwind.SegmentGoroutine, unwind.SegmentSignal, unwind.SegmentG0}) {
		t.Errorf("%+v", th)
	}
	// The system stack of a thread reaches to the ends of its mapping.
	if g0 := th.Segments[2]; g0.Low != 0x7eff_0000 || g0.High != 0x7f02_0000 {
		t.Errorf("%+v", g0)
	}
	// SP on none of them: its mapping is one more.
	th = Thread{}
	r.segments(&th, aG, 0x9_1000, maps)
	if got := kinds(th); len(got) != 4 || got[3] != unwind.SegmentSignal || th.Segments[3].Low != 0x9_0000 {
		t.Errorf("%+v", th)
	}
	// A thread without Go.
	th = Thread{}
	if r.segments(&th, 0, 0x9_1000, maps); len(th.Segments) != 1 || th.Segments[0].Kind != unwind.SegmentThread {
		t.Errorf("%+v", th)
	}
	// Where the layout is not known every writable mapping can be a stack.
	th, r.Layout = Thread{}, nil
	if r.segments(&th, aG, 0x9_1000, maps); len(th.Segments) != 2 {
		t.Errorf("%+v", th)
	}
}

func TestGoroutines(t *testing.T) {
	r := fakeRuntime(stopped())
	running := Thread{m: anM, Current: true}
	running.Goroutine, running.ID = 5, 77
	running.Segments = []unwind.Segment{{Low: 1, High: 2, Kind: unwind.SegmentG0}, {Low: 3, High: 4, Kind: unwind.SegmentGoroutine}}
	got, err := r.Goroutines([]Thread{running}, address)
	if err != nil || len(got) != 2 || got[0].ID != 77 || !got[0].Current {
		t.Fatalf("%+v, %v", got, err)
	}
	parked := got[1]
	pc, _ := parked.Registers.PC(unwind.AMD64)
	if parked.Goroutine != 6 || pc != 0x402 || parked.FirstPC != unwind.KindReturn || len(parked.Segments) != 2 || parked.Segments[1].Kind != unwind.SegmentG0 {
		t.Errorf("%+v", parked) // with the system stack of the thread that it is locked to
	}
	if got, err = r.Goroutines(nil, address); err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, ok := got[0].Registers.PC(unwind.AMD64); ok || got[0].Goroutine != 5 || got[0].State == nil {
		t.Errorf("of a goroutine that runs on a thread that was not stopped registers are known: %+v", got[0])
	}
	r.Memory.(words)[variables] = maxGoroutines + 1
	if _, err := r.Goroutines(nil, address); err == nil {
		t.Error("a length that cannot be was believed")
	}
	r.Layout.gGoid = -1
	if _, err := r.Goroutines(nil, address); !errors.Is(err, errNoGoroutines) {
		t.Errorf("%v", err)
	}
}

// TestRepeated: a list that is damaged has each goroutine once, by its address and by its number, and says so.
func TestRepeated(t *testing.T) {
	const otherG = 0x3_0000
	w := stopped()
	w.put(otherG, 0xa000, 0xb000, 0, 6, statusWaiting) // with the number of waitingG
	for i := range uint64(400) {
		w[list+8*i] = []uint64{aG, waitingG, deadG, otherG}[i%4]
	}
	w[variables] = 400
	r := fakeRuntime(w)
	got, err := r.Goroutines(nil, address)
	if err != nil || len(got) != 3 || got[0].Corrupt == nil || got[1].Goroutine != 5 || got[2].Goroutine != 6 {
		t.Fatalf("%+v, %v", got, err)
	}
	if want := "repeats 397 of its 400 entries"; !strings.Contains(got[0].Corrupt.Error(), want) {
		t.Errorf("%v, want %q", got[0].Corrupt, want)
	}
}

// TestNotYetRun: a goroutine that has not run yet stands at its first instruction. On arm64 the address of its caller is
// in the saved link register. Of one that has run, that register says nothing.
func TestNotYetRun(t *testing.T) {
	for start, want := range map[uint64]unwind.PCKind{0x400: unwind.KindInstruction, 0x300: unwind.KindReturn} {
		g := goroutine{pc: 0x400, start: start}
		g.sched[3] = 0x500
		th := parked(unwind.ARM64, &g)
		lr, ok := th.Registers.Get(unwind.ARM64.LR())
		if th.FirstPC != want || ok != (start == g.pc) || ok && lr != 0x500 {
			t.Errorf("%#x: %+v", start, th)
		}
	}
	if th := parked(unwind.AMD64, &goroutine{pc: 0x400, start: 0x400}); th.FirstPC != unwind.KindInstruction {
		t.Errorf("%+v", th)
	}
}

func TestMadeByGo(t *testing.T) {
	w := stopped()
	r := fakeRuntime(w)
	if !r.MadeByGo(aG) || r.MadeByGo(0) || r.MadeByGo(deadG) {
		t.Error("one of the runtime's threads was not known, or another was")
	}
	w[anM+24] = 1
	if r.MadeByGo(aG) {
		t.Error("C's thread is said to be Go's")
	}
}

// TestLibraryG: that a word names the thread's g shows in that its thread knows it.
func TestLibraryG(t *testing.T) {
	w := stopped()
	const tls, slot, other = 0x9000, 0x9100, 0x9200
	w[slot], w[tls+0x20], w[other], w[tls+0x40] = 0x20, aG0, 0x40, deadG
	r := fakeRuntime(w)
	if got := r.LibraryG(tls, []uint64{other, slot}); got != aG0 {
		t.Errorf("%#x", got)
	}
	if got := r.LibraryG(tls, []uint64{other}); got != 0 {
		t.Errorf("%#x of another thread", got)
	}
}

// fields are a structure's, by name.
type fields map[string]int64

func (f fields) Offset(path string) (int64, error) {
	off, ok := f[path]
	if !ok {
		return 0, errors.New("no field " + path)
	}
	return off, nil
}

func (f fields) Size() int64 { return 400 }

func TestNewLayout(t *testing.T) {
	g := fields{"stack.lo": 1, "stack.hi": 2, "m": 3, "goid": 4, "startpc": 5, "atomicstatus": 6, "sched.sp": 7, "sched.pc": 8, "sched.bp": 9,
		"syscallsp": 10, "syscallpc": 11}
	m := fields{"g0": 12, "gsignal": 13, "curg": 14}
	l, err := NewLayout(g, m, func(string) Structure { return nil })
	if err != nil || l.gStackHi != 2 || l.gSchedBP != 9 || l.mCurg != 14 || l.gSize != 400 {
		t.Fatalf("%+v, %v", l, err)
	}
	if l.gSchedLR != -1 || l.gSyscallB != -1 || l.mIsExtra != -1 || l.gLockedM != -1 {
		t.Errorf("what is missing in some releases: %+v", l)
	}
	delete(m, "curg")
	if _, err := NewLayout(g, m, func(string) Structure { return nil }); err == nil {
		t.Error("a runtime.m without curg")
	}
}
