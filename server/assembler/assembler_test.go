package assembler

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/stackasm"
)

var cStack = unwind.Segment{Low: 0x7000_0000, High: 0x7000_1000, Kind: unwind.SegmentThread}

const sp0 = 0x7000_0100

// R2: a candidate that fails the checks falls to the next strategy, and stays
// visible with its reason.
func TestR2RejectedCandidateFallsThrough(t *testing.T) {
	bad := &fake{name: "bad", steps: map[uint64][]unwind.Step{leafPC: {step(sp0+16, 0x9999_0000, 0)}}}
	good := &fake{name: "good", steps: map[uint64][]unwind.Step{leafPC: {step(sp0+16, midPC, 0)}}}
	s := with(bad, good).Stack(context.Background(), target(unwind.Windows{}), thread(leafPC, sp0, 0, cStack), Options{})
	equal(t, "PCs", pcs(s), []uint64{leafPC, midPC})
	if s.Frames[1].Strategy != "good" {
		t.Errorf("found by %q", s.Frames[1].Strategy)
	}
	r := s.Frames[0].Rejected
	if len(r) != 1 || r[0].Strategy != "bad" || r[0].PC != 0x9999_0000 || !strings.Contains(r[0].Reason, "executable") {
		t.Errorf("rejected: %+v", r)
	}
}

// R3: what every step is checked for, whoever made it.
func TestR3Checks(t *testing.T) {
	for name, c := range map[string]struct {
		step     unwind.Step
		want, by string
	}{
		"misaligned":       {step(sp0+20, midPC, 0), "not aligned", "alignment, R3"},
		"below":            {step(sp0-16, midPC, 0), "not above", "order, R3, R10"},
		"equal":            {step(sp0, midPC, 0), "not above", "order, R3, R10"},
		"outside":          {step(0x7100_0000, midPC, 0), "outside the thread's stacks", "stack, R3, R14"},
		"not canonical":    {step(sp0+16, 0x8000_0000_0000, 0), "not canonical", "code address, R3, R17"},
		"null":             {step(sp0+16, 0, 0), "below 4096", "code address, R3, R17"},
		"not executable":   {step(sp0+16, 0x600000, 0), "executable", "code address, R3, R17"},
		"another segment":  {step(0x6000_0100, midPC, 0), "another stack", "stack, R3, R14"},
		"no stack pointer": {unwind.Step{Caller: onlyPC(midPC)}, "no stack pointer", "registers, R3"},
	} {
		t.Run(name, func(t *testing.T) {
			other := unwind.Segment{Low: 0x6000_0000, High: 0x6000_1000, Kind: unwind.SegmentGoroutine}
			f := &fake{name: "f", steps: map[uint64][]unwind.Step{leafPC: {c.step}}}
			s := with(f).Stack(context.Background(), target(unwind.Windows{}), thread(leafPC, sp0, 0, cStack, other), Options{})
			if len(s.Frames) != 1 || s.Stop != unwind.Truncated || !strings.Contains(s.Reason, c.want) {
				t.Errorf("frames %#x, %v: %q; want a refusal with %q", pcs(s), s.Stop, s.Reason, c.want)
			}
			if r := s.Frames[0].Rejected; len(r) == 0 || r[0].By() != c.by {
				t.Errorf("refused %+v, want one by %s", r, c.by)
			}
		})
	}
}

func onlyPC(pc uint64) (r unwind.Registers) {
	r.Set(unwind.AMD64RIP, pc)
	return r
}

// A run is cut at the first frame that is refused; the frames before it stand.
func TestRunIsCutAtTheFirstBadStep(t *testing.T) {
	f := &fake{name: "f", steps: map[uint64][]unwind.Step{
		leafPC: {step(sp0+16, midPC, 0), step(sp0+32, outerPC, 0), step(sp0+8, midPC, 0), step(sp0+64, leafPC, 0)},
	}}
	s := with(f).Stack(context.Background(), target(unwind.Windows{}), thread(leafPC, sp0, 0, cStack), Options{})
	equal(t, "PCs", pcs(s), []uint64{leafPC, midPC, outerPC})
	if s.Stop != unwind.Truncated {
		t.Errorf("stop %v", s.Stop)
	}
}

// Following a frame pointer through code that keeps none would skip callers: the
// run is cut there, and the strategy asked again, with the code.
func TestRunIsCutWhereCodeKeepsNoFramePointer(t *testing.T) {
	// sub $24,%rsp; call; add $24,%rsp; ret
	noFP := []byte{0x48, 0x83, 0xec, 0x18, 0xe8, 0, 0xff, 0xff, 0xff, 0x48, 0x83, 0xc4, 0x18, 0xc3}
	const pc = 0x402000 + 9
	f := &fake{name: "f", steps: map[uint64][]unwind.Step{
		leafPC: {step(sp0+16, pc, sp0+256), step(sp0+272, outerPC, 0)},
		pc:     {step(sp0+48, outerPC, sp0+256)},
	}}
	tg := target(unwind.Windows{})
	tg.Code = codeAt{synthetic, 0x402000, noFP}
	s := with(f).Stack(context.Background(), tg, thread(leafPC, sp0, sp0, cStack), Options{})
	equal(t, "PCs", pcs(s), []uint64{leafPC, pc, outerPC})
	if s.Frames[1].CFA != sp0+48 {
		t.Errorf("CFA %#x: the callers were skipped", s.Frames[1].CFA)
	}
}

// What rests on a frame pointer is checked against the function's code in the
// innermost frame too, whoever says it.
func TestCodeContradictsAFramePointer(t *testing.T) {
	leaf := []byte{0x89, 0xf8, 0xff, 0xc0, 0xc3} // mov %edi,%eax; inc %eax; ret: no frame
	m, err := stackasm.New(unwind.AMD64, sp0).Word(midPC).Pad(64).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	naive := &fake{name: "naive", steps: map[uint64][]unwind.Step{0x401002: {step(sp0+48, outerPC, 0)}}}
	right := &fake{name: "right", steps: map[uint64][]unwind.Step{0x401002: {step(sp0+8, midPC, sp0+32)}}}
	tg := target(memories(m))
	tg.Code = codeAt{synthetic, 0x401000, leaf}
	s := with(naive, right).Stack(context.Background(), tg, thread(0x401002, sp0, sp0+32, cStack), Options{})
	equal(t, "PCs", pcs(s), []uint64{0x401002, midPC})
	if r := s.Frames[0].Rejected; len(r) != 1 || !strings.Contains(r[0].Reason, "own code") {
		t.Errorf("rejected %+v", r)
	}
}

// codeAt is a code map with the bytes of one function.
type codeAt struct {
	code
	start uint64
	bytes []byte
}

func (c codeAt) Bytes(addr uint64, n int) []byte {
	if addr == c.start {
		return c.bytes[:min(n, len(c.bytes))]
	}
	return c.code.Bytes(addr, n)
}

// R8: end and truncation are different, and only the former is believed of a
// strategy that followed a frame pointer from somewhere.
func TestR8EndAndTruncation(t *testing.T) {
	end := unwind.WalkResult{Stop: unwind.StopEnd, Reason: "frame pointer is 0"}
	f := &fake{name: "f", steps: map[uint64][]unwind.Step{leafPC: {step(sp0+16, midPC, 0)}}, stop: map[uint64]unwind.WalkResult{leafPC: end}}
	tg := target(unwind.Windows{})
	tg.Code = marking{synthetic}
	if s := with(f).Stack(context.Background(), tg, thread(leafPC, sp0, 0, cStack), Options{}); s.Stop != unwind.End {
		t.Errorf("a followed chain's end: %v %q", s.Stop, s.Reason)
	}
	f = &fake{name: "f", stop: map[uint64]unwind.WalkResult{leafPC: end}}
	if s := with(f).Stack(context.Background(), target(unwind.Windows{}), thread(leafPC, sp0, 0, cStack), Options{}); s.Stop != unwind.Truncated {
		t.Errorf("an innermost frame without a frame pointer: %v %q", s.Stop, s.Reason)
	}
}

// A frame pointer of 0 ends a stack near its top only, and never C code that a
// goroutine has called.
func TestEndByFramePointer(t *testing.T) {
	end := unwind.WalkResult{Stop: unwind.StopEnd, Reason: "frame pointer is 0"}
	for name, c := range map[string]struct {
		high      uint64
		kind      unwind.SegmentKind
		goroutine uint64
		want      unwind.StopKind
	}{
		"near a thread's top":      {sp0 + 0x800, unwind.SegmentThread, 0, unwind.End},
		"far below it":             {sp0 + 0x10000, unwind.SegmentThread, 0, unwind.Truncated},
		"C called by a goroutine":  {sp0 + 0x800, unwind.SegmentG0, 1, unwind.Truncated},
		"a system stack's own end": {sp0 + 0x800, unwind.SegmentG0, 0, unwind.End},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{name: "f", steps: map[uint64][]unwind.Step{leafPC: {step(sp0+16, midPC, 0)}}, stop: map[uint64]unwind.WalkResult{leafPC: end, midPC: end}}
			th := thread(leafPC, sp0, 0, unwind.Segment{Low: cStack.Low, High: c.high, Kind: c.kind})
			th.Goroutine = c.goroutine
			tg := target(unwind.Windows{})
			if s := with(f).Stack(context.Background(), tg, th, Options{}); s.Stop != unwind.Truncated {
				t.Errorf("code that shows nothing: %v %q", s.Stop, s.Reason)
			}
			tg.Code = marking{synthetic}
			if s := with(f).Stack(context.Background(), tg, th, Options{}); s.Stop != c.want {
				t.Errorf("%v %q, want %v", s.Stop, s.Reason, c.want)
			}
		})
	}
}

// R9: what the signal handler made look like a call of sigpanic is no call.
func TestR9FrameBelowSigpanicIsAnInstruction(t *testing.T) {
	m, err := stackasm.New(unwind.AMD64, sp0).Pad(24).Word(0, leafPC).Pad(64).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	th := thread(0x501010, sp0, sp0)
	s, err := goStep(target(memories(m)), th, &Function{Name: "runtime.sigpanic", Go: true, SPDelta: 32, HasSPDelta: true})
	if err != nil || s.CallerKind != unwind.KindInstruction {
		t.Errorf("%v, %v", s.CallerKind, err)
	}
}

// A frame pointer that leads out of unknown code, as JIT code is, may skip
// callers: the frame says so, and has no more trust than a scanned one; nor has
// what rests on it (TestR1NothingAboveAGuess).
func TestFramePointerOutOfUnknownCode(t *testing.T) {
	const jit = 0x40a010
	f := &fake{name: "f", steps: map[uint64][]unwind.Step{leafPC: {step(sp0+16, jit, 0), step(sp0+32, midPC, 0), step(sp0+48, outerPC, 0)}}}
	s := with(f).Stack(context.Background(), target(unwind.Windows{}), thread(leafPC, sp0, 0, cStack), Options{})
	equal(t, "PCs", pcs(s), []uint64{leafPC, jit, midPC, outerPC})
	for i, want := range []unwind.Trust{unwind.TrustContext, unwind.TrustFramePointer, unwind.TrustScan, unwind.TrustScan} {
		if got := s.Frames[i]; got.Trust != want || (len(got.Notes) > 0) != (want == unwind.TrustScan) {
			t.Errorf("frame %d: %v, notes %q; want %v", i, got.Trust, got.Notes, want)
		}
	}
}

// A strategy that fails is left out, and the stack says so; the next one serves.
func TestFailedStrategyIsLeftOut(t *testing.T) {
	broken := &fake{name: "broken", err: errors.New("gone")}
	good := &fake{name: "good", steps: map[uint64][]unwind.Step{leafPC: {step(sp0+16, midPC, 0)}, midPC: {step(sp0+32, outerPC, 0)}}}
	s := with(broken, good).Stack(context.Background(), target(unwind.Windows{}), thread(leafPC, sp0, 0, cStack), Options{})
	equal(t, "PCs", pcs(s), []uint64{leafPC, midPC, outerPC})
	if broken.asked != 1 || len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "gone") {
		t.Errorf("asked %d times, notes %q", broken.asked, s.Notes)
	}
}

// A depth limit truncates, and says that it did.
func TestDepthLimit(t *testing.T) {
	f := &fake{name: "f", steps: map[uint64][]unwind.Step{leafPC: {step(sp0+16, midPC, 0), step(sp0+32, outerPC, 0)}}}
	s := with(f).Stack(context.Background(), target(unwind.Windows{}), thread(leafPC, sp0, 0, cStack), Options{MaxFrames: 2})
	if len(s.Frames) != 2 || !s.DepthLimited || s.Stop != unwind.Truncated {
		t.Errorf("%d frames, limited %v, %v", len(s.Frames), s.DepthLimited, s.Stop)
	}
}

// R14: C on the g0 stack, called by Go on the goroutine's stack. asmcgocall's
// frame pointer leads back to the goroutine, whose addresses may be lower.
func TestR14AsmcgocallSwitchesToTheGoroutine(t *testing.T) {
	goroutine := stackasm.New(unwind.AMD64, 0x6000_0000)
	goroutine.Mark("low").Pad(64).Mark("asm").Ref("call").Word(goCallPC).Pad(16).Mark("call").Word(0).Word(exitPC).Pad(64)
	gm, err := goroutine.Assemble()
	if err != nil {
		t.Fatal(err)
	}
	c := &fake{name: "fpwalk", steps: map[uint64][]unwind.Step{leafPC: {step(sp0+16, asmPC, gm.Addr("asm"))}}}
	th := thread(leafPC, sp0, sp0, unwind.Segment{Low: cStack.Low, High: cStack.High, Kind: unwind.SegmentG0}, gm.Segment(unwind.SegmentGoroutine))
	s := with(c).Stack(context.Background(), target(memories(gm)), th, Options{})
	equal(t, "PCs", pcs(s), []uint64{leafPC, asmPC, goCallPC, exitPC})
	if s.Stop != unwind.End || s.Frames[2].Segment == s.Frames[1].Segment || s.Frames[2].Strategy != unwind.StrategyGopclntab {
		t.Errorf("%v %q, segments %d %d, %q", s.Stop, s.Reason, s.Frames[1].Segment, s.Frames[2].Segment, s.Frames[2].Strategy)
	}
}

// A frame pointer that leads back to where the walk has been is refused: no
// walk can visit a frame twice, through whatever stack it came.
func TestNoCycleThroughStackSwitches(t *testing.T) {
	goroutine := stackasm.New(unwind.AMD64, 0x6000_0000)
	goroutine.Pad(64).Mark("asm").Ref("asm").Word(asmPC).Pad(64)
	gm, err := goroutine.Assemble()
	if err != nil {
		t.Fatal(err)
	}
	c := &fake{name: "fpwalk", steps: map[uint64][]unwind.Step{leafPC: {step(sp0+16, asmPC, gm.Addr("asm"))}}}
	th := thread(leafPC, sp0, sp0, cStack, gm.Segment(unwind.SegmentGoroutine))
	s := with(c).Stack(context.Background(), target(memories(gm)), th, Options{})
	if s.Stop != unwind.Truncated || len(s.Frames) > 4 || !strings.Contains(s.Reason, "not above") {
		t.Errorf("%d frames, %v %q", len(s.Frames), s.Stop, s.Reason)
	}
}

// The frame below a signal's trampoline has the registers that the kernel saved,
// and its PC is an instruction's address (R9).
func TestSignalFrame(t *testing.T) {
	sig := stackasm.New(unwind.AMD64, 0x5000_0000)
	sig.Mark("ucontext").Pad(amd64Saved)
	for i := range amd64SavedOrder {
		switch amd64SavedOrder[i] {
		case unwind.AMD64RIP:
			sig.Word(leafPC)
		case unwind.AMD64RSP:
			sig.Word(sp0)
		default:
			sig.Word(uint64(i))
		}
	}
	sm, err := sig.Pad(64).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	th := thread(sigPC, sm.Addr("ucontext"), 0, sm.Segment(unwind.SegmentSignal), cStack)
	for _, pc := range []uint64{sigPC, sigPC + moveSize(unwind.AMD64)} { // stopped in it
		th.Registers.Set(unwind.AMD64RIP, pc)
		s := with().Stack(context.Background(), target(memories(sm)), th, Options{})
		equal(t, "PCs", pcs(s), []uint64{pc, leafPC})
	}
	th.Registers.Set(unwind.AMD64RIP, sigPC)
	th.FirstPC = unwind.KindReturn
	s := with().Stack(context.Background(), target(memories(sm)), th, Options{})
	equal(t, "PCs", pcs(s), []uint64{sigPC, leafPC})
	if f := s.Frames[1]; f.PC.Kind() != unwind.KindInstruction {
		t.Error("the interrupted frame's PC is no return address")
	}
	if v, _ := s.Frames[1].Registers.Get(unwind.AMD64RBX); v != 11 {
		t.Errorf("rbx %d", v)
	}
}

// R13: where a Go frame's caller has its frame pointer.
func TestR13FramePointerOfGoFrames(t *testing.T) {
	const cfa = 0x6000_0080
	for name, c := range map[string]struct {
		bp, saved uint64
		kind      unwind.PCKind
		want      bool
	}{
		"between push and mov":              {0x6000_0100, 0x6000_0100, unwind.KindInstruction, false},
		"untouched in a NOFRAME function":   {0x6000_0100, 5, unwind.KindInstruction, false},
		"scratch in an assembly function":   {0x1234_5679, 0x6000_0100, unwind.KindInstruction, true},
		"scratch, and what is saved is not": {0x1234_5679, 7, unwind.KindInstruction, false},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := stackasm.New(unwind.AMD64, cfa-16).Word(c.saved, midPC).Assemble()
			if err != nil {
				t.Fatal(err)
			}
			g := goFrame{program: newProgram(target(memories(m))), frame: &unwind.Frame{PC: unwind.Code(midPC, c.kind)}, sp: cfa - 64}
			if got := g.framePointerSaved(cfa, c.bp); got != c.want {
				t.Errorf("saved: %v, want %v", got, c.want)
			}
		})
	}
}

// crosscall2 as Go 1.26 assembles it: it
// saves rbp twice and C's callee-saved registers.
var crosscall2Code = []byte{
	0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x30, 0x48, 0x89, 0x6c, 0x24, 0x28, 0x48, 0x8d, 0x6c, 0x24, 0x28,
	0x48, 0x89, 0x1c, 0x24, 0x4c, 0x89, 0x64, 0x24, 0x08, 0x4c, 0x89, 0x6c, 0x24, 0x10, 0x4c, 0x89, 0x74, 0x24, 0x18,
	0x4c, 0x89, 0x7c, 0x24, 0x20, 0x48, 0x83, 0xec, 0x18, 0xe8, 0, 0xff, 0xff, 0xff, 0x48, 0x83, 0xc4, 0x18,
	0x48, 0x8b, 0x1c, 0x24, 0x4c, 0x8b, 0x64, 0x24, 0x08, 0x4c, 0x8b, 0x6c, 0x24, 0x10, 0x4c, 0x8b, 0x74, 0x24, 0x18,
	0x4c, 0x8b, 0x7c, 0x24, 0x20, 0x48, 0x8b, 0x6c, 0x24, 0x28, 0x48, 0x83, 0xc4, 0x30, 0x5d, 0xc3,
}

// Go's own frame that C called: C's registers come back from where it saved
// them.
func TestCrosscall2(t *testing.T) {
	const cfa = 0x6000_0100
	m, err := stackasm.New(unwind.AMD64, cfa-88).Pad(24).Word(0xb, 0xc, 0xd, 0xe, 0xf, cfa-16, 0x6000_0200, outerPC).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	tg := target(memories(m))
	tg.Code = fixedCode(crosscall2Code)
	th := thread(0x505000+51, cfa-88, cfa-24)
	step, err := goStep(tg, th, &Function{Name: "crosscall2", Start: 0x505000, End: 0x505000 + uint64(len(crosscall2Code)), Go: true, SPDelta: 80, HasSPDelta: true})
	if err != nil {
		t.Fatal(err)
	}
	for reg, want := range map[unwind.Register]uint64{unwind.AMD64RBP: 0x6000_0200, unwind.AMD64RBX: 0xb, unwind.AMD64R12: 0xc, 15: 0xf, unwind.AMD64RIP: outerPC, unwind.AMD64RSP: cfa} {
		if got, ok := step.Caller.Get(reg); !ok || got != want {
			t.Errorf("%s = %#x, want %#x (%s)", unwind.AMD64.RegisterName(reg), got, want, step.Rule)
		}
	}
}

// fixedCode is a code map that has these bytes at whatever address is asked for.
type fixedCode []byte

func (c fixedCode) Function(unwind.LookupAddr) (Function, bool)      { return Function{}, false }
func (c fixedCode) Complete(unwind.LookupAddr) bool                  { return false }
func (c fixedCode) Bytes(_ uint64, n int) []byte                     { return c[:min(n, len(c))] }
func (fixedCode) Model(unwind.LookupAddr) (*codemodel.Image, uint64) { return nil, 0 }

// R15: a frame of Delve's and one of ours are one when PC and CFA agree; Delve's
// inlined frames come with it, and frames that only Delve has do not (F1: the
// bogus frame after asmcgocall).
func TestR15StitchesClaims(t *testing.T) {
	f := &fake{name: "f", steps: map[uint64][]unwind.Step{leafPC: {step(sp0+16, midPC, 0), step(sp0+32, outerPC, 0)}}}
	th := thread(leafPC, sp0, 0, cStack)
	claim := func(pc, cfa uint64, name string, inlined bool) unwind.Frame {
		return unwind.Frame{PC: unwind.Code(pc, unwind.KindReturn), CFA: cfa, Function: name, Inlined: inlined}
	}
	th.Claims = []unwind.Frame{
		claim(leafPC, sp0+16, "leaf", false),
		claim(0, 0, "bogus", false),
		claim(midPC, sp0+32, "inlined", true),
		claim(midPC, sp0+32, "mid", false),
		claim(0, sp0+500, "bogus", false),
		claim(outerPC, sp0+999, "another activation", false),
	}
	s := with(f).Stack(context.Background(), target(unwind.Windows{}), th, Options{})
	equal(t, "PCs", pcs(s), []uint64{leafPC, midPC, midPC, outerPC})
	if !s.Frames[1].Inlined || s.Frames[1].Function != "inlined" || s.Frames[1].Trust != unwind.TrustFramePointer || s.Frames[1].DelveFrame != 2 {
		t.Errorf("inlined frame: %+v", s.Frames[1])
	}
	if s.Frames[2].DelveFrame != 3 || s.Frames[2].Function != "mid" || s.Frames[3].DelveFrame != -1 {
		t.Errorf("Delve's indices: %d %d", s.Frames[2].DelveFrame, s.Frames[3].DelveFrame)
	}
}

// goCode is code whose functions are Go's.
type goCode struct{ CodeMap }

func (c goCode) Function(at unwind.LookupAddr) (Function, bool) {
	fn, ok := c.CodeMap.Function(at)
	fn.Go = true
	return fn, ok
}

// What Delve believes of Go code is tried last, and judged. Of other code it does not count.
func TestClaimIsTheLastCandidate(t *testing.T) {
	th := thread(leafPC, sp0, 0, cStack)
	first := unwind.Frame{PC: unwind.Code(leafPC, unwind.KindInstruction), CFA: sp0 + 16}
	first.Registers.Set(unwind.AMD64RSP, sp0)
	second := unwind.Frame{PC: unwind.Code(midPC, unwind.KindReturn)}
	th.Claims = []unwind.Frame{first, second}
	tg := target(unwind.Windows{})
	native := with(&fake{name: "f"}).Stack(context.Background(), tg, th, Options{})
	equal(t, "PCs of native code", pcs(native), []uint64{leafPC})
	tg.Code = goCode{tg.Code}
	s := with(&fake{name: "f"}).Stack(context.Background(), tg, th, Options{})
	equal(t, "PCs", pcs(s), []uint64{leafPC, midPC})
	if s.Frames[1].Strategy != unwind.StrategyDelve {
		t.Errorf("found by %q", s.Frames[1].Strategy)
	}
}

// Tables need a function's code for a frame that stopped anywhere, and not for one
// that has called; who follows frame pointers needs it for both.
func TestCodeIsSentWhereItIsNeeded(t *testing.T) {
	fn := Function{Start: 0x401000, End: 0x402000, Exact: true}
	for _, tt := range []struct {
		trust unwind.Trust
		wants bool
		kind  unwind.PCKind
		sent  bool
	}{
		{unwind.TrustCFI, true, unwind.KindInstruction, true},
		{unwind.TrustCFI, true, unwind.KindReturn, false},
		{unwind.TrustCFI, false, unwind.KindInstruction, false},
		{unwind.TrustFramePointer, true, unwind.KindInstruction, true},
		{unwind.TrustFramePointer, true, unwind.KindReturn, true},
		{unwind.TrustFramePointer, false, unwind.KindReturn, false},
	} {
		w := &walker{target: target(unwind.Windows{}), thread: thread(leafPC, 0x7000, 0)}
		w.code = newProgram(w.target)
		w.stack.Frames = []unwind.Frame{{PC: unwind.Code(leafPC, tt.kind), Registers: w.thread.Registers}}
		s := &Strategy{Description: unwind.Description{Name: "s", Trust: tt.trust, WantsCode: tt.wants}}
		if r := w.request(s, &place{fn, true}); (r.Function != nil) != tt.sent {
			t.Errorf("%+v: the request has %+v", tt, r.Function)
		}
		if r := w.request(s, &place{fn, false}); r.Function != nil {
			t.Errorf("%+v: of an unknown function the request has %+v", tt, r.Function)
		}
	}
}
