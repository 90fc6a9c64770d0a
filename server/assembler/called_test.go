package assembler

import (
	"context"
	"strings"
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// judged assembles a stack of one step, from the leaf, with code before return
// addresses.
func judged(tg *Target, th *unwind.Thread, steps ...unwind.Step) unwind.Stack {
	f := &fake{name: "f", steps: map[uint64][]unwind.Step{leafPC: steps}}
	return tables(f.steps, &scanner{fake{name: "scan"}}).Stack(context.Background(), tg, th, Options{})
}

// exactly is calls, with functions whose beginnings are known.
func exactly(at map[uint64]uint64) *Target {
	tg := calls(at)
	tg.Code = calling{code: synthetic, calls: at}
	return tg
}

func refused(t *testing.T, s unwind.Stack, why string) {
	t.Helper()
	if len(s.Frames) != 1 || s.Stop != unwind.Truncated || !strings.Contains(s.Reason, why) {
		t.Errorf("PCs %#x, %v %q; want a refusal with %q", pcs(s), s.Stop, s.Reason, why)
	}
}

func taken(t *testing.T, s unwind.Stack, trust unwind.Trust) {
	t.Helper()
	if len(s.Frames) != 2 || s.Frames[1].Trust != trust {
		t.Errorf("PCs %#x, trust %v, %q; want two frames, the second of trust %v", pcs(s), trusts(s), s.Reason, trust)
	}
}

func TestReturnAddressFollowsACall(t *testing.T) {
	th := thread(leafPC, sp0, 0, cStack)
	to := bySP(step(sp0+16, midPC, 0))
	refused(t, judged(exactly(nil), th, to), "no call ends at return address")
	taken(t, judged(exactly(map[uint64]uint64{midPC: 0x401000}), th, to), unwind.TrustCFI)
	// Where there is no code to look at, nothing is said.
	taken(t, judged(target(unwind.Windows{}), th, to), unwind.TrustCFI)
	// Signals come without a call.
	interrupted := to
	interrupted.CallerKind = unwind.KindInstruction
	taken(t, judged(exactly(nil), th, interrupted), unwind.TrustCFI)
	tg := exactly(nil)
	tg.Executable = unwind.NewRangeSet(tg.Executable[0], unwind.Range{Start: 0xffff_ffff_ff60_0000, End: 0xffff_ffff_ff60_1000})
	tg.Code = synthetic // and the vsyscall page has no code that could be read
	refused(t, judged(tg, th, bySP(step(sp0+16, 0xffff_ffff_ff60_0400, 0))), "kernel's part")
}

// TestR17OtherArchitectures: where calls are not decoded, no return address is refused
// for lacking one.
func TestR17OtherArchitectures(t *testing.T) {
	for _, arch := range []unwind.Arch{unwind.AMD64, unwind.ARM64, unwind.I386, unwind.ARM, unwind.S390X} {
		registers := func(pc, sp uint64) (r unwind.Registers) {
			r.Set(arch.PC(), pc)
			r.Set(arch.SP(), sp)
			return r
		}
		to := unwind.Step{CFA: sp0 + 16, Caller: registers(midPC, sp0+16), CallerKind: unwind.KindReturn, Trust: unwind.TrustCFI}
		tables := &fake{name: "tables", steps: map[uint64][]unwind.Step{leafPC: {to}}}
		a := &Assembler{Strategies: []Strategy{{Unwinder: tables,
			Description: unwind.Description{Name: "tables", Arches: []unwind.Arch{arch}, Anywhere: true, Trust: unwind.TrustCFI}}}}
		tg := exactly(nil) // code without calls
		tg.Arch = arch
		s := a.Stack(context.Background(), tg, &unwind.Thread{Registers: registers(leafPC, sp0), Segments: []unwind.Segment{cStack}}, Options{})
		if arch == unwind.AMD64 || arch == unwind.ARM64 {
			refused(t, s, "no call ends at return address")
		} else {
			taken(t, s, unwind.TrustCFI)
		}
	}
}

func TestCallLeadsElsewhere(t *testing.T) {
	th := thread(leafPC, sp0, 0, cStack)
	tb, fp := bySP(step(sp0+16, midPC, 0)), step(sp0+16, midPC, 0)
	elsewhere := map[uint64]uint64{midPC: 0x403000}
	refused(t, judged(exactly(elsewhere), th, tb), "does not lead to")
	// Where the function is unknown it may be an exception's landing pad: then
	// tables may be right, and a frame pointer proves nothing.
	taken(t, judged(calls(elsewhere), th, tb), unwind.TrustScan)
	refused(t, judged(calls(elsewhere), th, fp), "does not lead to")
	// Such a pad in a part that was moved away: the call was of the whole.
	part := calls(elsewhere)
	part.Code.(calling).code[0x401000] = Function{Name: "leaf.cold", Whole: 0x403000}
	taken(t, judged(part, th, tb), unwind.TrustCFI)
	part.Code.(calling).code[0x401000] = Function{Name: "leaf.cold", Whole: 0x403010}
	taken(t, judged(part, th, tb), unwind.TrustScan)
	// A call through a register may lead anywhere; one of the function that is left
	// need not be at its entry.
	taken(t, judged(exactly(map[uint64]uint64{midPC: 0}), th, tb), unwind.TrustCFI)
	taken(t, judged(exactly(map[uint64]uint64{midPC: 0x401008}), th, tb), unwind.TrustCFI)
	// What cannot be decoded may lead anywhere, what is no code nowhere.
	refused(t, judged(exactly(map[uint64]uint64{midPC: 0x700000}), th, tb), "does not lead to")
}

// Code that was changed in memory is not what the file says.
func TestCallOfHookedCode(t *testing.T) {
	tg := exactly(map[uint64]uint64{midPC: 0x403000})
	tg.Memory = unwind.Windows{{Addr: 0x403000, Data: []byte{0xe9, 0xfb, 0xdf, 0xff, 0xff, 0x90, 0x90, 0x90}}}
	taken(t, judged(tg, thread(leafPC, sp0, 0, cStack), bySP(step(sp0+16, midPC, 0))), unwind.TrustCFI)
	tg.Memory = unwind.Windows{{Addr: 0x403000, Data: []byte{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90}}}
	refused(t, judged(tg, thread(leafPC, sp0, 0, cStack), bySP(step(sp0+16, midPC, 0))), "does not lead to")
}

func TestRetpolinesAndLazyBinding(t *testing.T) {
	thunk := []byte{0xe8, 7, 0, 0, 0, 0xf3, 0x90}
	if !retpoline(unwind.AMD64, thunk) || retpoline(unwind.AMD64, []byte{0xe8, 7, 1, 0, 0, 0xf3, 0x90}) || retpoline(unwind.ARM64, thunk) {
		t.Error("retpoline")
	}
	stub := []byte{0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0}
	resolver := Function{Name: "_dl_runtime_resolve_xsavec"}
	for _, c := range []struct {
		fn    Function
		exact bool
		code  []byte
		want  bool
	}{
		{resolver, true, stub, true}, {resolver, true, stub[4:], true}, {resolver, true, thunk, false},
		{Function{Name: "f"}, true, stub, false}, {Function{}, false, stub, true}, {Function{}, false, thunk, false},
	} {
		if got := resolving(unwind.AMD64, c.code, c.fn.Name, c.exact); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// What the compiler makes of Go and of C does not call each other.
func TestGoAndC(t *testing.T) {
	at := map[uint64]uint64{goCallPC: 0, asmPC: 0, cbPC: 0, midPC: 0}
	th := thread(leafPC, sp0, 0, cStack)
	refused(t, judged(exactly(at), th, bySP(step(sp0+16, goCallPC, 0))), "between Go and C is assembly")
	refused(t, judged(exactly(at), th, bySP(step(sp0+16, cbPC, 0))), "does not call")
	taken(t, judged(exactly(at), th, bySP(step(sp0+16, asmPC, 0))), unwind.TrustCFI)
	for callee, want := range map[string]bool{"runtime.cgocallbackg": true, "runtime.cgocallbackg1": false, "main.f": false} {
		if got := callsThrough(&Function{Name: "runtime.cgocallback.abi0", Go: true}, &Function{Name: callee, Go: true}); got != want {
			t.Errorf("cgocallback calls %s: %v", callee, got)
		}
	}
	if callsThrough(&Function{Name: "runtime.asmcgocall"}, &Function{Name: "main.f", Go: true}) || !callsThrough(&Function{Name: "runtime.systemstack"}, &Function{Go: true}) {
		t.Error("asmcgocall calls C, systemstack Go")
	}
}

func TestGoexitLiesAtTheTop(t *testing.T) {
	stack := unwind.Segment{Low: 0x6000_0000, High: 0x6000_1000, Kind: unwind.SegmentGoroutine}
	for sp, good := range map[uint64]bool{stack.High - 64: true, stack.High - 512: false} {
		s := judged(target(unwind.Windows{}), thread(leafPC, stack.Low+64, 0, stack), bySP(step(sp, 0x503001, 0)))
		if good && s.Stop != unwind.End {
			t.Errorf("SP %#x: %q", sp, s.Reason)
		}
		if !good {
			refused(t, s, "not at the top")
		}
	}
}

// After a better strategy was refused, what comes next is a second guess.
func TestSecondGuess(t *testing.T) {
	bad := &fake{name: "tables", steps: map[uint64][]unwind.Step{leafPC: {bySP(step(sp0+16, 0x9999_0000, 0))}}}
	good := &fake{name: "good", steps: map[uint64][]unwind.Step{leafPC: {step(sp0+32, midPC, 0)}}}
	a := with(bad, good)
	a.Strategies[0].Description.Trust = unwind.TrustCFI
	s := a.Stack(context.Background(), target(unwind.Windows{}), thread(leafPC, sp0, 0, cStack), Options{})
	taken(t, s, unwind.TrustScan)
	if notes := s.Frames[1].Notes; len(notes) != 1 || !strings.Contains(notes[0], "tables") {
		t.Errorf("notes %q", notes)
	}
}

// The frames that nothing but calls through registers leads to are doubtful when
// what should come next is refused.
func TestDoubtfulBeforeARefusal(t *testing.T) {
	steps := []unwind.Step{bySP(step(sp0+16, midPC, 0)), bySP(step(sp0+32, outerPC, 0)), bySP(step(sp0+48, midPC, 0)), bySP(step(sp0+64, 0x9999_0000, 0))}
	for name, c := range map[string]struct {
		calls map[uint64]uint64
		want  []unwind.Trust
	}{
		"through registers": {map[uint64]uint64{midPC: 0, outerPC: 0}, []unwind.Trust{unwind.TrustContext, unwind.TrustScan, unwind.TrustScan, unwind.TrustScan}},
		"one that leads":    {map[uint64]uint64{midPC: 0, outerPC: 0x402000}, []unwind.Trust{unwind.TrustContext, unwind.TrustCFI, unwind.TrustCFI, unwind.TrustScan}},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{name: "f", steps: map[uint64][]unwind.Step{leafPC: steps[:3], midPC: steps[3:]}}
			f.steps[midPC][0].CFA = sp0 + 64
			a := tables(f.steps, &scanner{fake{name: "scan"}})
			s := a.Stack(context.Background(), exactly(c.calls), thread(leafPC, sp0, 0, cStack), Options{})
			for i, want := range c.want {
				if i >= len(s.Frames) || s.Frames[i].Trust != want {
					t.Fatalf("trust %v, want %v; %q", trusts(s), c.want, s.Reason)
				}
			}
		})
	}
}

// A return address too low for code may be anything; that tables say that there
// is no caller is believed, but for Go.
func TestEndByAWordOfMemory(t *testing.T) {
	for name, c := range map[string]struct {
		pc   uint64
		cfa  uint64
		kind unwind.SegmentKind
		want unwind.StopKind
	}{
		"no caller":            {leafPC, 0, unwind.SegmentG0, unwind.End},
		"a return address":     {leafPC, sp0 + 16, unwind.SegmentG0, unwind.Truncated},
		"of a thread":          {leafPC, sp0 + 16, unwind.SegmentThread, unwind.End},
		"of a signal":          {leafPC, sp0 + 16, unwind.SegmentSignal, unwind.Truncated},
		"no caller of Go code": {goCallPC, 0, unwind.SegmentG0, unwind.Truncated},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{name: "f", stop: map[uint64]unwind.WalkResult{c.pc: {Stop: unwind.StopEnd, Reason: "the end", CFA: c.cfa}}}
			a := with(f)
			a.Strategies[0].Description.Trust = unwind.TrustCFI
			stack := cStack
			stack.Kind = c.kind
			th := thread(c.pc, sp0, 0, stack)
			th.Goroutine = 1
			if s := a.Stack(context.Background(), target(unwind.Windows{}), th, Options{}); s.Stop != c.want {
				t.Errorf("%v: %q", s.Stop, s.Reason)
			}
		})
	}
}
