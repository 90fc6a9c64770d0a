package stoptest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/internal/unwind/snapshot"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/stepping"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/unwind"
)

// The program's threads of control.
const (
	GoThread  = 100 // runs Goroutine, which is in main.climb
	Goroutine = 1
	Parked    = 2   // a goroutine that no thread runs, in main.climb too
	CThread   = 200 // runs no goroutine, and is in the C function leaf
)

// Program is a stopped program, and its debugger. It implements [stop.Program],
// [stop.Debugger] and what server/dap wants of a target. Its fields must not be
// changed while it is worked with.
type Program struct {
	// Selection is the debugger's.
	Selection reading.Selection
	// Library says that the program's Go code came with a library.
	Library bool
	// Inlined is the number of inlined calls that the debugger has before each of
	// its frames.
	Inlined int
	// Endless is how often the debugger has the outermost frame of each stack once
	// more, at the same place.
	Endless int
	// EndlessInlined marks these frames as inlined calls, as a debugger behind a
	// server does, which tells them by their address and CFA.
	EndlessInlined bool
	// Extra is a frame that the debugger alone has between the first two frames of
	// the goroutine, as it has after a wrong unwinding; 0 for none.
	Extra uint64
	// OnView is called before each view; an error of it is the view's. May be nil.
	OnView func() error
	// ClaimsErr is why the debugger has no frames, nil if it has.
	ClaimsErr error

	frames int

	mu    sync.Mutex
	moved error
	views int
	asked []int
}

// Code of the program: each function has a page.
const (
	pageSize  = 0x1000
	leafPC    = 0x401010 // C: leaf, which calls itself
	startPC   = 0x402010 // C: start, the outermost function
	climbPC   = 0x501010 // Go: main.climb, which calls itself
	mainPC    = 0x502010 // Go: main.main
	goexitPC  = 0x503010 // Go: runtime.goexit, the outermost function
	goFrame   = 32       // bytes of a Go function's frame, its return address included
	cFrame    = 16       // bytes of a C function's frame
	goStack   = 0xc000_0000_0000
	otherGo   = 0xc800_0000_0000
	cStack    = 0x7ffd_0000_0000
	imagePath = "/bin/program"
	imageBase = 0x400000
	imageEnd  = 0x510000
)

type code map[uint64]assembler.Function

var functions = code{
	leafPC &^ (pageSize - 1):   {Name: "leaf", Exact: true},
	startPC &^ (pageSize - 1):  {Name: "start", Exact: true, Outermost: true},
	climbPC &^ (pageSize - 1):  {Name: "main.climb", Exact: true, Go: true, SPDelta: goFrame - 8, HasSPDelta: true},
	mainPC &^ (pageSize - 1):   {Name: "main.main", Exact: true, Go: true, SPDelta: goFrame - 8, HasSPDelta: true},
	goexitPC &^ (pageSize - 1): {Name: "runtime.goexit", Exact: true, Go: true, Asm: true, HasSPDelta: true, Outermost: true},
}

// Function implements [assembler.CodeMap].
func (c code) Function(at unwind.LookupAddr) (assembler.Function, bool) {
	start := uint64(at) &^ (pageSize - 1)
	fn, ok := c[start]
	fn.Start, fn.End = start, start+pageSize
	return fn, ok
}

// Bytes implements [assembler.CodeMap]: no code can be read.
func (c code) Bytes(uint64, int) []byte { return nil }

// Complete implements [assembler.CodeMap].
func (c code) Complete(unwind.LookupAddr) bool { return true }

// Model implements [assembler.CodeMap].
func (c code) Model(unwind.LookupAddr) (*codemodel.Image, uint64) { return nil, 0 }

// Name implements [engine.Namer].
func (c code) Name(s *unwind.Stack) {
	for i := range s.Frames {
		f := &s.Frames[i]
		if pc := f.PC.Raw(); pc >= imageBase && pc < imageEnd {
			f.Image, f.Offset = imagePath, pc-imageBase
		}
		if fn, ok := c.Function(f.PC.Lookup(unwind.AMD64)); ok && f.Function == "" {
			f.Function, f.File, f.Line = fn.Name, "/src/program.go", 7
		}
	}
}

// New makes a program. Each of its stacks has so many frames, and at least three.
func New(frames int) *Program {
	return &Program{Selection: reading.Selection{Goroutine: Goroutine, Thread: GoThread}, frames: max(frames, 3)}
}

// Move lets the program stand elsewhere: views of before it are of no use. nil
// lets it stand still again.
func (p *Program) Move(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moved = why
}

// Views is how often the program was viewed.
func (p *Program) Views() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.views
}

// Asked lists for how many frames the debugger was asked each time.
func (p *Program) Asked() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]int(nil), p.asked...)
}

// View implements [stop.Program].
func (p *Program) View(bool) (stop.View, error) {
	if p.OnView != nil {
		if err := p.OnView(); err != nil {
			return nil, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.views++
	p.moved = nil
	goCode := unwind.NewRangeSet(unwind.Range{Start: 0x501000, End: 0x504000})
	all := unwind.Range{Start: 0x400000, End: 0x510000}
	return &view{p, engine.Input{
		Target: assembler.Target{Arch: unwind.AMD64, OS: "linux", Memory: p.memory(), Executable: unwind.NewRangeSet(all), Code: functions},
		Images: []unwind.Image{{Base: all.Start, Path: imagePath, Executable: []unwind.Range{all}}},
		Hosted: goCode, Names: functions,
	}}, nil
}

type view struct {
	*Program
	in engine.Input
}

func (v *view) EngineInput() *engine.Input { return &v.in }

func (v *view) Images() *imagemap.ImageMap {
	m, err := imagemap.New(imagemap.Word64, "", []imagemap.Image{{Base: imageBase, EndOfText: imageEnd, Path: imagePath}})
	if err != nil {
		panic(err) // these are right
	}
	return m
}

func (v *view) Still() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.moved
}

func (v *view) Snapshot([]unwind.Thread, []unwind.Stack) (*snapshot.Snapshot, error) {
	return nil, errors.New("stoptest makes no snapshots")
}

// call is one frame of a stack of the program's.
type call struct{ pc, sp, cfa uint64 }

// calls are the frames of a stack, innermost first.
func (p *Program) calls(base, size, inner uint64, outermost ...uint64) (out []call) {
	pcs := make([]uint64, 0, p.frames)
	for len(pcs) < p.frames-len(outermost) {
		pcs = append(pcs, inner)
	}
	pcs = append(pcs, outermost...)
	for i, pc := range pcs {
		c := call{pc: pc, sp: base + uint64(i)*size}
		c.cfa = c.sp + size
		out = append(out, c)
	}
	return out
}

func (p *Program) goCalls(base uint64) []call {
	return p.calls(base, goFrame, climbPC, mainPC, goexitPC)
}

func (p *Program) cCalls() []call { return p.calls(cStack, cFrame, leafPC, startPC) }

// memory holds the stacks: each frame's return address lies below its CFA.
func (p *Program) memory() unwind.Memory {
	window := func(calls []call) unwind.Window {
		low, high := calls[0].sp, calls[len(calls)-1].cfa
		data := make([]byte, high-low)
		binary.LittleEndian.PutUint64(data, low) // a pointer, to itself
		for i := range calls[:len(calls)-1] {
			binary.LittleEndian.PutUint64(data[calls[i].cfa-8-low:], calls[i+1].pc)
		}
		return unwind.Window{Addr: low, Data: data}
	}
	return unwind.Windows{window(p.cCalls()), window(p.goCalls(goStack)), window(p.goCalls(otherGo))}
}

func (p *Program) thread(calls []call, kind unwind.SegmentKind) reading.Thread {
	th := reading.Thread{Thread: unwind.Thread{
		FirstPC:  unwind.KindInstruction,
		Segments: []unwind.Segment{{Low: calls[0].sp - pageSize, High: calls[len(calls)-1].cfa, Kind: kind}},
	}}
	th.Registers.Set(unwind.AMD64.PC(), calls[0].pc)
	th.Registers.Set(unwind.AMD64.SP(), calls[0].sp)
	return th
}

// Threads implements [stop.View].
func (v *view) Threads() ([]reading.Thread, error) {
	inGo, inC := v.thread(v.goCalls(goStack), unwind.SegmentGoroutine), v.thread(v.cCalls(), unwind.SegmentThread)
	inGo.ID, inGo.Goroutine, inC.ID = GoThread, Goroutine, CThread
	inGo.Current = v.Selection.Thread == GoThread
	inC.Current = !inGo.Current
	return []reading.Thread{inGo, inC}, nil
}

// Current implements [stop.View].
func (v *view) Current() (reading.Thread, error) {
	threads, _ := v.Threads()
	for _, th := range threads {
		if th.Current {
			return th, nil
		}
	}
	return reading.Thread{}, errors.New("there is no current thread")
}

// Goroutines implements [stop.View].
func (v *view) Goroutines() ([]reading.Thread, error) {
	threads, _ := v.Threads()
	parked := v.thread(v.goCalls(otherGo), unwind.SegmentGoroutine)
	parked.Goroutine, parked.FirstPC = Parked, unwind.KindReturn
	return []reading.Thread{threads[0], parked}, nil
}

// Goroutine implements [stop.View].
func (v *view) Goroutine(id uint64) (reading.Thread, error) {
	all, _ := v.Goroutines()
	for _, th := range all {
		if th.Goroutine == id {
			return th, nil
		}
	}
	return reading.Thread{}, fmt.Errorf("there is no goroutine %d", id)
}

// Claims implements [stop.View].
func (v *view) Claims(th reading.Thread, depth int) ([]unwind.Frame, error) {
	v.mu.Lock()
	v.asked = append(v.asked, depth)
	v.mu.Unlock()
	if v.ClaimsErr != nil {
		return nil, v.ClaimsErr
	}
	var out []unwind.Frame
	for _, f := range v.DelveFrames(stop.KeyOf(&th)) {
		if len(out) == depth {
			break
		}
		out = append(out, f)
	}
	for n := 0; n < v.Endless && len(out) < depth; n++ {
		out = append(out, out[len(out)-1])
		out[len(out)-1].Inlined = v.EndlessInlined
	}
	return out, nil
}

// DelveFrames are the debugger's own frames of a thread of control.
func (p *Program) DelveFrames(key stop.Key) (out []unwind.Frame) {
	calls := p.cCalls()
	switch key.Goroutine {
	case Goroutine:
		calls = p.goCalls(goStack)
	case Parked:
		calls = p.goCalls(otherGo)
	}
	if p.Extra != 0 && key.Goroutine == Goroutine {
		calls = append([]call{calls[0], {pc: p.Extra, sp: calls[0].cfa, cfa: calls[0].cfa + 8}}, calls[1:]...)
	}
	for i, c := range calls {
		kind := unwind.KindReturn
		if i == 0 {
			kind = unwind.KindInstruction
		}
		f := unwind.Frame{PC: unwind.Code(c.pc, kind), CFA: c.cfa, Strategy: unwind.StrategyDelve, Segment: -1}
		if fn, ok := functions.Function(unwind.LookupAddr(c.pc)); ok {
			f.Function, f.File, f.Line = fn.Name, "/src/program.go", 7
		}
		f.Registers.Set(unwind.AMD64.PC(), c.pc)
		f.Registers.Set(unwind.AMD64.SP(), c.sp)
		for range p.Inlined {
			in := f
			in.Inlined, in.Function, in.DelveFrame = true, "main.inlined", len(out)
			out = append(out, in)
		}
		f.DelveFrame = len(out)
		out = append(out, f)
	}
	return out
}

// Selected implements [stop.Debugger].
func (p *Program) Selected() (reading.Selection, error) { return p.Selection, nil }

// InLibrary implements [stop.Debugger].
func (p *Program) InLibrary() bool { return p.Library }

// Pid is the process's ID.
func (p *Program) Pid() int { return 4711 }

// Live is true: it is a process.
func (p *Program) Live() bool { return true }

// Launched is false: the debugger has not started it.
func (p *Program) Launched() bool { return false }

// SelectThread refuses.
func (p *Program) SelectThread(tid uint64) error {
	return fmt.Errorf("thread %d cannot be selected", tid)
}

// PrefetchStack does nothing.
func (p *Program) PrefetchStack(int64, int) (release func()) { return func() {} }

// Arm refuses.
func (p *Program) Arm(*stepping.Decision) (bool, error) {
	return false, errors.New("stoptest does not step")
}

// EndStep has nothing to end.
func (p *Program) EndStep() error { return nil }
