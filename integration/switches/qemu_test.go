//go:build linux

package switches

import (
	"bytes"
	"context"
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/integration/internal/inprocess"
	"github.com/clewdbg/clew/internal/gdbstub"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/snapshot"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/offline"
	"github.com/clewdbg/clew/unwind"
)

// emulated is the program on arm64, under qemu. Its stacks come from snapshots:
// registers and memory as the stub sends them, what is known of goroutines by
// reading the runtime's own structures, as a debugger would.
type emulated struct {
	testing.TB
	stub        *gdbstub.Stub
	exe         string
	maps        string // file that the program writes its mappings to
	symbols     map[string]uint64
	layout      map[string]uint64 // offsets of fields, as "g.sched.sp"
	breakpoints map[uint64]bool
}

func emulate(t testing.TB, exe, scenario string) *stand {
	t.Helper()
	maps := filepath.Join(t.TempDir(), "maps")
	env := []string{"SWITCHING_MAPS=" + maps, "GOMAXPROCS=1"}
	e := &emulated{TB: t, exe: exe, maps: maps, symbols: symbolsOf(t, exe), layout: layoutOf(t, exe), breakpoints: make(map[uint64]bool),
		stub: gdbstub.Start(t, testneed.Tool(t, "qemu-aarch64"), env, exe, scenario)}
	s := newStand(t, e, exe)
	s.alone = true
	return s
}

func (e *emulated) arch() unwind.Arch { return unwind.ARM64 }

// stubFailure is an error of the stub's: when a second thread stops or is made
// while the first is being looked at, it loses its way.
type stubFailure struct{ error }

func (e *emulated) must(err error) {
	if err != nil {
		panic(stubFailure{err})
	}
}

// insist does a scenario again where the stub has failed.
func insist(t testing.TB, scenario func()) {
	for range 5 {
		err := attempt(scenario)
		if err == nil {
			return
		}
		t.Logf("the stub has failed: %v", err)
	}
	t.Fatal("the stub fails again and again")
}

func attempt(scenario func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			failure, ok := r.(stubFailure)
			if !ok {
				panic(r)
			}
			err = failure.error
		}
	}()
	scenario()
	return nil
}

func (e *emulated) locate(fn string) []uint64 {
	e.Helper()
	if addr, ok := e.symbols[fn]; ok {
		return []uint64{addr}
	}
	return nil // inlined
}

func (e *emulated) breakAt(addrs ...uint64) func() {
	e.Helper()
	for _, a := range addrs {
		e.must(e.stub.Break(a))
		e.breakpoints[a] = true
	}
	return func() {
		for _, a := range addrs {
			e.must(e.stub.Clear(a))
			delete(e.breakpoints, a)
		}
	}
}

func (e *emulated) registers() (r unwind.Registers) {
	e.Helper()
	words, err := e.stub.Words(33)
	e.must(err)
	for i, w := range words[:31] {
		r.Set(unwind.Register(i), w)
	}
	r.Set(unwind.ARM64SP, words[31])
	r.Set(unwind.ARM64PC, words[32])
	return r
}

func (e *emulated) run() reason {
	e.Helper()
	regs := e.registers()
	if pc, _ := regs.PC(unwind.ARM64); e.breakpoints[pc] {
		e.must(e.stub.Clear(pc))
		_, err := e.stub.Ask("s")
		e.must(err)
		e.must(e.stub.Break(pc))
	}
	const trap = 5
	signal := 0
	for signal != trap { // others are the program's
		var err error
		signal, err = e.stub.Continue(signal)
		e.must(err)
	}
	regs = e.registers()
	if pc, _ := regs.PC(unwind.ARM64); e.breakpoints[pc] {
		return atBreakpoint
	}
	return byItself
}

func (e *emulated) signal(uint64, syscall.Signal) { e.Fatal("qemu's threads have no IDs here") }

func (e *emulated) word(addr uint64) uint64 {
	e.Helper()
	var b [8]byte
	e.must(e.stub.ReadMemory(addr, b[:]))
	return binary.LittleEndian.Uint64(b[:])
}

func (e *emulated) executable() (out unwind.RangeSet) {
	for _, m := range e.mappings() {
		if m.Executable() {
			out = out.Union(unwind.NewRangeSet(unwind.Range{Start: m.Start, End: m.End}))
		}
	}
	return out
}

func (e *emulated) mappings() []imagemap.Mapping {
	e.Helper()
	text, err := os.ReadFile(e.maps)
	e.must(err)
	list, err := imagemap.ParseMaps(bytes.NewReader(text))
	e.must(err)
	return list
}

func (e *emulated) threads() []halted {
	th := e.thread()
	pc, _ := th.Registers.PC(unwind.ARM64)
	return []halted{{1, th.Goroutine, pc}}
}

// thread is the one that has stopped, with the stacks of the runtime.m that runs
// on it: that which has the stack that SP is on.
func (e *emulated) thread() unwind.Thread {
	e.Helper()
	th := unwind.Thread{ID: 1, Registers: e.registers()}
	sp, _ := th.Registers.SP(unwind.ARM64)
	for m := e.word(e.symbols["runtime.allm"]); m != 0; m = e.word(m + e.layout["m.alllink"]) {
		curg := e.word(m + e.layout["m.curg"])
		found := false
		var segments []unwind.Segment
		for g, kind := range map[uint64]unwind.SegmentKind{
			curg: unwind.SegmentGoroutine, e.word(m + e.layout["m.g0"]): unwind.SegmentG0, e.word(m + e.layout["m.gsignal"]): unwind.SegmentSignal,
		} {
			if g == 0 {
				continue
			}
			seg := unwind.Segment{Low: e.word(g), High: e.word(g + 8), Kind: kind}
			found = found || seg.Contains(sp)
			segments = append(segments, seg)
		}
		if !found {
			continue
		}
		th.Segments, th.Saved = segments, &unwind.Saved{G: curg}
		if curg != 0 {
			th.Goroutine = e.word(curg + e.layout["g.goid"])
			for reg, field := range map[unwind.Register]string{unwind.ARM64PC: "pc", unwind.ARM64SP: "sp", unwind.ARM64FP: "bp", unwind.ARM64LR: "lr"} {
				th.Saved.Registers.Set(reg, e.word(curg+e.layout["g.sched."+field]))
			}
		}
		return th
	}
	return th // a thread of C's, whose stack is not in the list
}

// most is how much of a stack a snapshot holds from SP on: far more than any
// scenario uses. C's stacks are large.
const most = 128 << 10

// stack takes a snapshot, and unwinds it as clew unwind does.
func (e *emulated) stack(uint64) unwind.Stack {
	e.Helper()
	th := e.thread()
	s := &snapshot.Snapshot{Arch: unwind.ARM64, OS: "linux", Threads: []unwind.Thread{th},
		Images: []snapshot.Image{{Path: e.exe}}}
	hold := func(low, high uint64) {
		data := make([]byte, high-low)
		e.must(e.stub.ReadMemory(low, data))
		s.Memory = append(s.Memory, unwind.Window{Addr: low, Data: data})
	}
	sp, _ := th.Registers.SP(unwind.ARM64)
	if len(th.Segments) == 0 {
		hold(sp-16, sp+4096) // Go's frame records lie below SP
	}
	for _, seg := range th.Segments {
		low := max(seg.Low, seg.High-min(seg.High, most))
		if seg.Contains(sp) {
			low = sp - 16
		}
		hold(low, min(seg.High, low+most))
	}
	for _, m := range e.mappings() {
		s.Maps = append(s.Maps, snapshot.Map{Start: m.Start, End: m.End, Perm: m.Perm, Path: m.Path})
		if m.Executable() && m.Path == "" { // where signal handlers return to
			hold(m.Start, m.End)
		}
	}
	line, err := s.Marshal()
	e.must(err)
	read, err := snapshot.Parse(line)
	e.must(err)
	in, threads, err := (&offline.Opener{}).Open(read, "")
	e.must(err)
	return engine.New(inprocess.Strategies()).Prepare(context.Background(), in).Stack(context.Background(), &threads[0], assembler.Options{})
}

// layoutOf reads the runtime's structures from the program's DWARF.
func layoutOf(t testing.TB, exe string) map[string]uint64 {
	t.Helper()
	f, err := elf.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]uint64)
	for r := data.Reader(); ; {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			return out
		}
		name, _ := e.Val(dwarf.AttrName).(string)
		if e.Tag != dwarf.TagStructType || name != "runtime.g" && name != "runtime.m" {
			continue
		}
		typ, err := data.Type(e.Offset)
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range typ.(*dwarf.StructType).Field {
			path := name[len("runtime."):] + "." + field.Name
			out[path] = uint64(field.ByteOffset)
			if named, ok := field.Type.(*dwarf.TypedefType); ok {
				field.Type = named.Type
			}
			if inner, ok := field.Type.(*dwarf.StructType); ok && field.Name == "sched" {
				for _, word := range inner.Field {
					out[path+"."+word.Name] = uint64(field.ByteOffset + word.ByteOffset)
				}
			}
		}
	}
}

// R12, R14 on arm64.
func TestARM64(t *testing.T) {
	f := flavour{name: "arm64", cflags: "-O2 -g0", ldflags: "-linkmode=external -extldflags=-static",
		goEnv: []string{"GOARCH=arm64", "CC=" + testneed.Tool(t, "aarch64-linux-gnu-gcc")}}
	testSwitches(t, f, emulate)
}
