package assembler

import (
	"context"
	"encoding/binary"
	"maps"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/internal/unwind/gocode"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/stackasm"
)

// Code of a synthetic runtime: one function a page.
const (
	mcallPC    = 0x521010
	scheduleAt = 0x522010
	parkPC     = 0x523010
	goparkPC   = 0x524010 // behind a call of mcall
	gogoPC     = 0x525010
	switchG    = 0xc000_1000
)

// runtimeCode has calls before some addresses.
type runtimeCode struct {
	code
	calls map[uint64]uint64 // return address to callee
}

func (c runtimeCode) Bytes(addr uint64, n int) []byte {
	if callee, ok := c.calls[addr+5]; ok && n == 5 {
		return binary.LittleEndian.AppendUint32([]byte{0xe8}, uint32(callee-addr-5))
	}
	return c.code.Bytes(addr, n)
}

func runtimeTarget(memory unwind.Memory) *Target {
	t := target(memory)
	t.Executable = unwind.NewRangeSet(unwind.Range{Start: 0x400000, End: 0x530000})
	t.Code = runtimeCode{code{
		0x503000: synthetic[0x503000],
		0x521000: {Name: "runtime.mcall", Exact: true, Go: true, SPDelta: 16, HasSPDelta: true},
		0x522000: {Name: "runtime.schedule", Exact: true, Go: true, SPDelta: 16, HasSPDelta: true},
		0x523000: {Name: "runtime.park_m", Exact: true, Go: true, SPDelta: 16, HasSPDelta: true},
		0x524000: {Name: "runtime.gopark", Exact: true, Go: true, SPDelta: 16, HasSPDelta: true},
		0x525000: {Name: "gogo", Exact: true, Go: true, HasSPDelta: true},
	}, map[uint64]uint64{goparkPC: 0x521000}}
	return t
}

func savedState(g, pc, sp, fp uint64) *unwind.Saved {
	s := &unwind.Saved{G: g}
	s.Registers.Set(unwind.AMD64RIP, pc)
	s.Registers.Set(unwind.AMD64RSP, sp)
	s.Registers.Set(unwind.AMD64RBP, fp)
	return s
}

// R14: what the runtime has saved of a goroutine counts only where the code says
// that it is the state of the call that left the goroutine's stack.
func TestResume(t *testing.T) {
	g0 := stackasm.New(unwind.AMD64, 0x6100_0000)
	g0.Mark("schedule").Pad(8).Mark("bp1").Ref("bp2").Word(parkPC).Mark("park").Pad(8).Mark("bp2").Word(0).Word(mcallPC).Mark("mcall").Word(switchG).Pad(64)
	gm, err := g0.Assemble()
	if err != nil {
		t.Fatal(err)
	}
	goroutine := stackasm.New(unwind.AMD64, 0x6000_0000)
	goroutine.Pad(64).Mark("gopark").Pad(8).Mark("bp").Word(0).Word(exitPC).Pad(64)
	um, err := goroutine.Assemble()
	if err != nil {
		t.Fatal(err)
	}
	state := func(g, pc uint64) *unwind.Saved { return savedState(g, pc, um.Addr("gopark"), um.Addr("bp")) }
	for name, c := range map[string]struct {
		saved  *unwind.Saved
		from   string
		frames int
		stop   unwind.StopKind
		reason string
	}{
		"the goroutine's own":         {state(switchG, goparkPC), "park", 4, unwind.End, "goexit"},
		"the scheduler was called":    {state(switchG, goparkPC), "schedule", 3, unwind.End, "scheduler"},
		"no goroutine runs":           {&unwind.Saved{}, "park", 2, unwind.End, "scheduler"},
		"nothing is known":            {nil, "park", 2, unwind.Truncated, "no DWARF"},
		"another goroutine runs":      {state(switchG+8, goparkPC), "park", 2, unwind.Truncated, "called"},
		"it did not call":             {state(switchG, goparkPC+1), "park", 2, unwind.Truncated, "no call"},
		"its stack is unknown":        {savedState(switchG, goparkPC, 0x5000_0000, 0), "park", 2, unwind.Truncated, "outside the thread's stacks"},
		"its state has no PC":         {&unwind.Saved{G: switchG}, "park", 2, unwind.Truncated, "nothing is saved"},
		"its stack is the system's":   {savedState(switchG, goparkPC, gm.Addr("park"), 0), "park", 2, unwind.Truncated, "not above"},
		"its PC is out of this world": {state(switchG, 1<<60), "park", 2, unwind.Truncated, "no call"},
	} {
		t.Run(name, func(t *testing.T) {
			pc, bp := uint64(parkPC), "bp2"
			if c.from == "schedule" {
				pc, bp = scheduleAt, "bp1"
			}
			th := thread(pc, gm.Addr(c.from), gm.Addr(bp), gm.Segment(unwind.SegmentG0), um.Segment(unwind.SegmentGoroutine))
			th.Saved = c.saved
			s := with().Stack(context.Background(), runtimeTarget(memories(gm, um)), th, Options{})
			if len(s.Frames) != c.frames || s.Stop != c.stop || !strings.Contains(s.Reason, c.reason) {
				t.Errorf("frames %#x, %v: %s; want %d, %v: %s", pcs(s), s.Stop, s.Reason, c.frames, c.stop, c.reason)
			}
		})
	}
}

// gogo has the goroutine's SP before its PC: what is at SP is no return address.
func TestEnter(t *testing.T) {
	goroutine := stackasm.New(unwind.AMD64, 0x6000_0000)
	goroutine.Pad(64).Mark("gopark").Word(outerPC).Mark("bp").Word(0).Word(exitPC).Pad(64)
	um, err := goroutine.Assemble()
	if err != nil {
		t.Fatal(err)
	}
	walk := func(saved *unwind.Saved) unwind.Stack {
		th := thread(gogoPC, um.Addr("gopark"), um.Addr("bp"), um.Segment(unwind.SegmentGoroutine))
		th.Saved = saved
		return with().Stack(context.Background(), runtimeTarget(memories(um)), th, Options{})
	}
	for name, saved := range map[string]*unwind.Saved{
		"untouched":     savedState(switchG, goparkPC, um.Addr("gopark"), um.Addr("bp")),
		"words cleared": savedState(switchG, goparkPC, 0, 0),
	} {
		if s := walk(saved); s.Stop != unwind.End || len(s.Frames) != 3 || s.Frames[1].PC.Raw() != goparkPC {
			t.Errorf("%s: frames %#x, %v: %s", name, pcs(s), s.Stop, s.Reason)
		}
	}
	for name, saved := range map[string]*unwind.Saved{
		"unknown":       nil,
		"another's":     savedState(switchG, goparkPC, um.Addr("gopark")+8, 0),
		"gogo for ever": savedState(switchG, 0x525000, um.Addr("gopark"), 0),
	} {
		if s := walk(saved); s.Stop != unwind.Truncated {
			t.Errorf("%s: frames %#x, %v: %s", name, pcs(s), s.Stop, s.Reason)
		}
	}
}

// depthAMD64 is asmcgocall's code behind its call of C.
var depthAMD64 = []byte{
	0x48, 0x8b, 0x7c, 0x24, 0x08, // mov 8(%rsp),%rdi
	0x48, 0x8b, 0x77, 0x10, // mov 16(%rdi),%rsi
	0x48, 0x2b, 0x34, 0x24, // sub (%rsp),%rsi
	0x64, 0x48, 0x89, 0x3c, 0x25, 0xf8, 0xff, 0xff, 0xff, // mov %rdi,%fs:-8
	0x48, 0x89, 0xf4, // mov %rsi,%rsp
}

// asmcgocallCode is a code map with asmcgocall's code and calls of it.
type asmcgocallCode struct {
	runtimeCode
	code []byte
}

func (c asmcgocallCode) Bytes(addr uint64, n int) []byte {
	if addr == asmPC {
		return c.code[:min(n, len(c.code))]
	}
	return c.runtimeCode.Bytes(addr, n)
}

// depthStack is of C under asmcgocall, which has kept a depth and a goroutine. The
// goroutine is another runtime's where others says what is writable.
func depthStack(t *testing.T, um *stackasm.Memory, others []unwind.Range, depth, heap uint64) unwind.Stack {
	t.Helper()
	cm, err := stackasm.New(unwind.AMD64, sp0).Pad(16).Word(depth, heap).Pad(64).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	gm, err := stackasm.New(unwind.AMD64, switchG).Word(0, um.Base, um.Addr("top")).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	stale := um.Addr("asm") - 0x1000_0000
	c := &fake{name: "f", steps: map[uint64][]unwind.Step{leafPC: {step(sp0+16, asmPC, stale)}}}
	th := thread(leafPC, sp0, sp0, unwind.Segment{Low: cStack.Low, High: cStack.High, Kind: unwind.SegmentG0}, um.Segment(unwind.SegmentGoroutine))
	tg := target(memories(um, cm, gm))
	if others != nil {
		th.Segments = th.Segments[:1]
		tg.Writable = unwind.NewRangeSet(others...)
	}
	tg.Code = asmcgocallCode{runtimeCode{synthetic, map[uint64]uint64{goCallPC: 0x502000}}, depthAMD64}
	return with(c).Stack(context.Background(), tg, th, Options{})
}

// The distance from the top of the goroutine's stack counts, not the frame
// pointer that C returns: the stack may have moved.
func TestDepth(t *testing.T) {
	goroutine := stackasm.New(unwind.AMD64, 0x6000_0000)
	goroutine.Pad(64).Mark("asm").Ref("call").Word(goCallPC).Pad(16).Mark("call").Word(0).Word(exitPC).Pad(64).Mark("top")
	um, err := goroutine.Assemble()
	if err != nil {
		t.Fatal(err)
	}
	var others []unwind.Range // what is writable; the thread knows none of its goroutines' stacks
	walk := func(depth uint64, heap uint64) unwind.Stack { return depthStack(t, um, others, depth, heap) }
	depth := um.Addr("top") - um.Addr("asm")
	crossed := func(what string, s unwind.Stack) {
		t.Helper()
		if s.Stop != unwind.End || len(s.Frames) != 4 || s.Frames[2].PC.Raw() != goCallPC {
			t.Errorf("%s: frames %#x, %v: %s", what, pcs(s), s.Stop, s.Reason)
		}
	}
	crossed("the thread's own", walk(depth, switchG))
	for name, s := range map[string]unwind.Stack{
		"wrong depth": walk(depth-8, switchG), "no goroutine": walk(depth, 0), "unreadable": walk(depth, 8), "beyond": walk(1<<63, switchG),
	} {
		if s.Stop != unwind.Truncated || len(s.Frames) != 2 {
			t.Errorf("%s: frames %#x, %v: %s", name, pcs(s), s.Stop, s.Reason)
		}
	}
	others = []unwind.Range{{Start: um.Base, End: um.Addr("top") + 0x1000}}
	crossed("another runtime's goroutine", walk(depth, switchG))
	others[0].End = um.Addr("top") - 8
	if s := walk(depth, switchG); s.Stop != unwind.Truncated || len(s.Frames) != 2 {
		t.Errorf("what is not writable: frames %#x, %v: %s", pcs(s), s.Stop, s.Reason)
	}
}

// Stopped between the call of C and the way back, the frame pointer is as stale
// as it was when C gave it back; the slots are where they were until SP is set.
func TestDepthInnermost(t *testing.T) {
	goroutine := stackasm.New(unwind.AMD64, 0x6000_0000)
	goroutine.Pad(64).Mark("asm").Ref("call").Word(goCallPC).Pad(16).Mark("call").Word(0).Word(exitPC).Pad(64).Mark("top")
	um, err := goroutine.Assemble()
	if err != nil {
		t.Fatal(err)
	}
	cm, err := stackasm.New(unwind.AMD64, sp0).Word(um.Addr("top")-um.Addr("asm"), switchG).Pad(64).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	gm, err := stackasm.New(unwind.AMD64, switchG).Word(um.Base, 0, um.Addr("top")).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	// Where the stack was before, everything is still there.
	old, err := stackasm.New(unwind.AMD64, 0x5000_0000).Mark("asm").Word(0x5000_0020).Word(goCallPC).Pad(64).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []uint64{0, 5, 9, 13, 22} { // before each instruction that follows
		th := thread(asmPC+at, sp0, old.Addr("asm"), unwind.Segment{Low: cStack.Low, High: cStack.High, Kind: unwind.SegmentG0}, um.Segment(unwind.SegmentGoroutine))
		tg := target(memories(um, cm, gm, old))
		tg.Writable = unwind.NewRangeSet(unwind.Range{Start: 0x5000_0000, End: 0x5000_1000}, unwind.Range{Start: 0x6000_0000, End: 0x6000_1000})
		tg.Code = asmcgocallCode{runtimeCode{synthetic, map[uint64]uint64{goCallPC: 0x502000, asmPC: 0x502100}}, depthAMD64}
		s := with().Stack(context.Background(), tg, th, Options{})
		if sp, _ := s.Frames[min(1, len(s.Frames)-1)].Registers.SP(unwind.AMD64); s.Stop != unwind.End || len(s.Frames) != 3 || sp != um.Addr("asm")+16 {
			t.Errorf("+%d: frames %#x, %v: %s", at, pcs(s), s.Stop, s.Reason)
		}
	}
}

// asmcgocall is that of Go 1.26 on arm64, from where it switches stacks.
var asmcgocall = []uint32{
	0x97fff67c, // bl gosave_systemstack_switch
	0xaa0303fc, // mov x28, x3
	0x9400051e, // bl save_g
	0xf9401f80, // ldr x0, [x28, #56]
	0x9100001f, // mov sp, x0
	0xf940339d, // ldr x29, [x28, #96]
	0xaa0903e0, // mov x0, x9
	0x910003ed, // mov x13, sp
	0xd10041ad, // sub x13, x13, #16
	0x910001bf, // mov sp, x13
	0xf90003e4, // str x4, [sp]
	0xf9400484, // ldr x4, [x4, #8]
	0xcb020084, // sub x4, x4, x2
	0xf90007e4, // str x4, [sp, #8]
	0xd63f0020, // blr x1
	0xaa0003e9, // mov x9, x0
	0xf94003fc, // ldr x28, [sp]
	0x9400050f, // bl save_g
	0xf9400785, // ldr x5, [x28, #8]
	0xf94007e6, // ldr x6, [sp, #8]
	0xcb0600a5, // sub x5, x5, x6
	0xaa0903e0, // mov x0, x9
	0x910000bf, // mov sp, x5
	0xb9002be0, // str w0, [sp, #40]
	0xf85f83fd, // ldur x29, [sp, #-8]
}

// TestWayBackARM64: from the call of C on until SP is the goroutine's again, asmcgocall's
// slots are known, and nowhere else.
func TestWayBackARM64(t *testing.T) {
	const start, call, last = 0x1000, 14, 22
	var code flatCode
	for _, word := range asmcgocall {
		code = binary.LittleEndian.AppendUint32(code, word)
	}
	tg := &Target{Arch: unwind.ARM64, Code: code}
	for i := range asmcgocall {
		for _, kind := range []unwind.PCKind{unwind.KindInstruction, unwind.KindReturn} {
			g := &goFrame{program: &program{target: tg}, frame: &unwind.Frame{PC: unwind.Code(start+4*uint64(i), kind)}, fn: &Function{Start: start}}
			slots, ok := g.wayBack()
			if kind == unwind.KindReturn && i != call+1 && i != call+4 {
				continue // no call is before it
			}
			want := i >= call && i <= last
			if ok != want || ok && slots != (gocode.WayBack{Old: 8, G: 0, TopAt: 8}) {
				t.Errorf("instruction %d, %v: %+v, %v", i, kind, slots, ok)
			}
		}
	}
}

// flatCode is code from 0x1000 on.
type flatCode []byte

func (flatCode) Function(unwind.LookupAddr) (Function, bool)        { return Function{}, false }
func (flatCode) Complete(unwind.LookupAddr) bool                    { return false }
func (flatCode) Model(unwind.LookupAddr) (*codemodel.Image, uint64) { return nil, 0 }
func (c flatCode) Bytes(addr uint64, n int) []byte {
	at := min(int(addr-0x1000), len(c))
	return c[at:min(at+n, len(c))]
}

// TestPassedLR: while morestack is innermost, its caller's return address is in x3.
func TestPassedLR(t *testing.T) {
	for _, c := range []struct {
		name string
		arch unwind.Arch
		kind unwind.PCKind
		want bool
	}{
		{"runtime.morestack.abi0", unwind.ARM64, unwind.KindInstruction, true},
		{"runtime.morestack_noctxt.abi0", unwind.ARM64, unwind.KindInstruction, true},
		{"runtime.morestack.abi0", unwind.ARM64, unwind.KindReturn, false},
		{"runtime.morestack.abi0", unwind.AMD64, unwind.KindInstruction, false},
		{"main.morestack", unwind.ARM64, unwind.KindInstruction, false},
	} {
		g := &goFrame{program: &program{target: &Target{Arch: c.arch}}, frame: &unwind.Frame{PC: unwind.Code(0x1000, c.kind)}, fn: &Function{Name: c.name}}
		g.frame.Registers.Set(3, 0x4711)
		if lr, ok := g.passedLR(); ok != c.want || ok && lr != 0x4711 {
			t.Errorf("%s, %v, %v: %#x, %v", c.name, c.arch, c.kind, lr, ok)
		}
	}
}

// TestPanicThroughC: a panic has passed C's frames, and what it has deferred has called C again, which runs where they
// were. The goroutine's outer frames are still there, and the stack has no known end. Without a panic only damage explains
// that the way back is lost, and C's frames are not left out.
func TestPanicThroughC(t *testing.T) {
	const panicPC, backPC = 0x505000 + 20, 0x507000 + 20
	code := maps.Clone(synthetic)
	code[0x507000] = Function{Name: "runtime.cgocallbackg", Exact: true, Go: true, SPDelta: 24, HasSPDelta: true}
	system, err := stackasm.New(unwind.AMD64, 0x6100_0000).Mark("record").Pad(64).Assemble() // nothing is left
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		called uint64 // by the call before the return address above cgocallback's frame
		inner  string // the function that was innermost on the goroutine's stack
		past   bool
	}{
		"a panic":          {0x502000, "runtime.gopanic", true},
		"Goexit":           {0x502000, "runtime.Goexit", true},
		"no panic":         {0x502000, "main.callback", false},
		"another function": {0x504000, "runtime.gopanic", false},
	} {
		code[0x505000] = Function{Name: c.inner, Exact: true, Go: true, SPDelta: 24, HasSPDelta: true}
		goroutine := stackasm.New(unwind.AMD64, 0x6000_0000)
		goroutine.Pad(64).Mark("panic").Pad(16).Word(system.Addr("record"), backPC).Pad(16).Word(system.Addr("record"), cbPC).Mark("callback").Pad(32).Word(asmPC).Mark("asm").Ref("call").Word(goCallPC).Pad(16).Mark("call").Word(0).Word(exitPC).Pad(64)
		um, err := goroutine.Assemble()
		if err != nil {
			t.Fatal(err)
		}
		tg := target(memories(system, um))
		tg.Code = calling{code, map[uint64]uint64{backPC: 0x505000, cbPC: 0x507000, goCallPC: c.called, exitPC: 0x501000}}
		th := thread(panicPC, um.Addr("panic"), system.Addr("record"), system.Segment(unwind.SegmentG0), um.Segment(unwind.SegmentGoroutine))
		th.FirstPC, th.Saved = unwind.KindReturn, &unwind.Saved{G: switchG}
		s := with().Stack(context.Background(), tg, th, Options{})
		if !c.past {
			equal(t, name, pcs(s), []uint64{panicPC, backPC, cbPC})
			continue
		}
		equal(t, name, pcs(s), []uint64{panicPC, backPC, cbPC, goCallPC, exitPC})
		if s.Frames[3].Trust != unwind.TrustScan || s.Frames[4].Trust != unwind.TrustCFI || s.Stop != unwind.Truncated || !strings.Contains(s.Reason, "guessed") {
			t.Errorf("%v, %s: %s", trusts(s), s.Stop, s.Reason)
		}
	}
}
