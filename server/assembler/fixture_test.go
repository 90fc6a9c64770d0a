package assembler

import (
	"bytes"
	"context"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/stackasm"
)

// Code addresses of the synthetic target: C functions in pages of their own, Go
// functions in others.
const (
	leafPC   = 0x401010
	midPC    = 0x402010
	outerPC  = 0x403010
	goCallPC = 0x501010 // in main.call, a Go function
	asmPC    = 0x502010 // in runtime.asmcgocall
	exitPC   = 0x503010 // in runtime.goexit
	cbPC     = 0x504010 // in runtime.cgocallback
	sigPC    = 0x404000 // a signal's trampoline
)

// code is a code map of fixed functions.
type code map[uint64]Function

func (c code) Function(at unwind.LookupAddr) (Function, bool) {
	for start, fn := range c {
		if uint64(at) >= start && uint64(at) < start+0x1000 {
			fn.Start, fn.End = start, start+0x1000
			return fn, true
		}
	}
	return Function{}, false
}

// sigreturn is mov $15,%rax; syscall.
var sigreturn = []byte{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}

func (c code) Bytes(addr uint64, n int) []byte {
	if addr == sigPC {
		return sigreturn[:min(n, len(sigreturn))]
	}
	return nil
}

// marking is a code map whose function mid sets its frame pointer to 0, as where
// threads start: xor %ebp,%ebp, and fillers.
type marking struct{ code }

func (marking) Bytes(addr uint64, n int) []byte {
	const start, call = midPC &^ 0xfff, midPC&0xfff - 2
	if addr < start || addr >= start+0x1000 {
		return nil
	}
	out := bytes.Repeat([]byte{0x90}, 0x1000)
	copy(out, []byte{0x31, 0xed})
	copy(out[call:], []byte{0xff, 0xd0}) // call *%rax
	out = out[addr-start:]
	return out[:min(n, len(out))]
}

var synthetic = code{
	0x401000: {Name: "leaf", Exact: true},
	0x402000: {Name: "mid", Exact: true},
	0x403000: {Name: "outer", Exact: true},
	0x501000: {Name: "main.call", Exact: true, Go: true, SPDelta: 24, HasSPDelta: true},
	0x502000: {Name: "runtime.asmcgocall", Exact: true, Go: true, Asm: true, SPDelta: 8, HasSPDelta: true},
	0x503000: {Name: "runtime.goexit", Exact: true, Go: true, Asm: true, HasSPDelta: true, Outermost: true},
	0x504000: {Name: "runtime.cgocallback", Exact: true, Go: true, Asm: true, SPDelta: 32, HasSPDelta: true},
}

// Complete says that all functions of the first pages are known.
func (c code) Complete(at unwind.LookupAddr) bool { return at < 0x40a000 }

func (c code) Model(unwind.LookupAddr) (*codemodel.Image, uint64) { return nil, 0 }

// memories joins windows of several stacks.
func memories(ms ...*stackasm.Memory) unwind.Memory {
	var all unwind.Windows
	for _, m := range ms {
		all = append(all, m.Windows()...)
	}
	return all
}

func target(memory unwind.Memory) *Target {
	return &Target{
		Arch: unwind.AMD64, OS: "linux", Memory: memory, Code: synthetic,
		Executable: unwind.NewRangeSet(unwind.Range{Start: 0x400000, End: 0x510000}),
	}
}

// fake is a strategy that answers from a table: the steps out of a frame, by
// the frame's PC.
type fake struct {
	name  string
	steps map[uint64][]unwind.Step
	stop  map[uint64]unwind.WalkResult
	// next, if set, answers instead, from the frame's SP.
	next  func(sp uint64) []unwind.Step
	err   error
	asked int
}

func (f *fake) Describe(context.Context) (unwind.Description, error) {
	return unwind.Description{Name: f.name, Arches: []unwind.Arch{unwind.AMD64}, Anywhere: true, Trust: unwind.TrustFramePointer}, nil
}
func (f *fake) Update(context.Context, unwind.ImageDelta) ([]unwind.ImageReport, error) {
	return nil, nil
}
func (f *fake) Yield(context.Context, unwind.RangeSet) error { return nil }
func (f *fake) Walk(_ context.Context, reqs []unwind.WalkRequest) ([]unwind.WalkResult, error) {
	f.asked++
	if f.err != nil {
		return nil, f.err
	}
	var out []unwind.WalkResult
	for _, r := range reqs {
		pc, _ := r.Registers.PC(r.Arch)
		result, ok := f.stop[pc]
		if !ok {
			result = unwind.WalkResult{Stop: unwind.StopNoRule, Reason: "nothing known"}
		}
		steps := f.steps[pc]
		if f.next != nil {
			sp, _ := r.Registers.SP(r.Arch)
			steps = f.next(sp)
		}
		if steps != nil {
			result.Steps = steps[:min(len(steps), r.MaxFrames)]
			if !ok {
				result.Stop = unwind.StopLimit
			}
		}
		out = append(out, result)
	}
	return out, nil
}

// step is a step to a caller.
func step(cfa, pc, fp uint64) unwind.Step {
	s := unwind.Step{CFA: cfa, CallerKind: unwind.KindReturn, Trust: unwind.TrustFramePointer, Rule: "cfa=rbp+16; ra=[cfa-8]; fp=[cfa-16]"}
	s.Caller.Set(unwind.AMD64RIP, pc)
	s.Caller.Set(unwind.AMD64RSP, cfa)
	s.Caller.Set(unwind.AMD64RBP, fp)
	return s
}

func with(fakes ...*fake) *Assembler {
	a := &Assembler{}
	for _, f := range fakes {
		d, _ := f.Describe(context.Background())
		a.Strategies = append(a.Strategies, Strategy{Description: d, Unwinder: f})
	}
	return a
}

func thread(pc, sp, fp uint64, segments ...unwind.Segment) *unwind.Thread {
	th := &unwind.Thread{ID: 7, Segments: segments}
	th.Registers.Set(unwind.AMD64RIP, pc)
	th.Registers.Set(unwind.AMD64RSP, sp)
	th.Registers.Set(unwind.AMD64RBP, fp)
	return th
}

func pcs(s unwind.Stack) (out []uint64) {
	for _, f := range s.Frames {
		out = append(out, f.PC.Raw())
	}
	return out
}

func equal(t *testing.T, what string, got, want []uint64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %#x, want %#x", what, got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("%s: %#x, want %#x", what, got, want)
		}
	}
}

// goStep leaves a thread's first frame, which waits in a call, by Go's tables.
func goStep(tg *Target, th *unwind.Thread, fn *Function) (unwind.Step, error) {
	pc, _ := th.Registers.PC(tg.Arch)
	sp, _ := th.Registers.SP(tg.Arch)
	g := goFrame{program: newProgram(tg), thread: th, fn: fn, way: fn.switchKind(), sp: sp, step: new(unwind.Step),
		frame: &unwind.Frame{PC: unwind.Code(pc, unwind.KindReturn), Registers: th.Registers}}
	way := g.stepTables()
	return *way.step, way.err
}
