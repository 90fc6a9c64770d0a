package assembler

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/stackasm"
)

// scanner is a strategy that scans: its frames have no more trust than a scan's.
type scanner struct{ fake }

func (s *scanner) Describe(context.Context) (unwind.Description, error) {
	return unwind.Description{Name: s.name, Arches: []unwind.Arch{unwind.AMD64}, Anywhere: true, WantsCode: true, Trust: unwind.TrustScan}, nil
}

// behind puts a scanner behind other strategies.
func (a *Assembler) behind(s *scanner) *Assembler {
	d, _ := s.Describe(context.Background())
	a.Strategies = append(a.Strategies, Strategy{Description: d, Unwinder: s})
	return a
}

// trusted returns a step with another trust.
func trusted(s unwind.Step, trust unwind.Trust) unwind.Step {
	s.Trust = trust
	return s
}

// bySP returns a step with the rule of a table that knows where SP is.
func bySP(s unwind.Step) unwind.Step {
	s.Rule = "cfa=rsp+16; ra=[cfa-8]; fp=unchanged"
	return trusted(s, unwind.TrustCFI)
}

// calling is a code map with calls of functions' entries right before return
// addresses.
type calling struct {
	code
	calls map[uint64]uint64 // return address to what is called, 0 for what a register says
}

func (c calling) Bytes(addr uint64, n int) []byte {
	page := make([]byte, 0x1000)
	base := addr &^ 0xfff
	for i := range page {
		page[i] = 0x90
		if i >= len(page)-16 {
			page[i] = 0xc3 // what begins in a page ends there
		}
	}
	for ra, target := range c.calls {
		switch {
		case ra&^0xfff != base:
		case target == 0:
			copy(page[ra-base-2:], "\xff\xd0")
		default:
			page[ra-base-5] = 0xe8
			binary.LittleEndian.PutUint32(page[ra-base-4:], uint32(target-ra))
		}
	}
	return page[addr-base:][:min(n, int(base+0x1000-addr))]
}

// openEnded is code of which nothing shows where it returns: ud2 in place of each page's end.
type openEnded struct{ CodeMap }

func (o openEnded) Bytes(addr uint64, n int) []byte {
	out := o.CodeMap.Bytes(addr, n)
	for i := range out {
		if at := addr + uint64(i); at%0x1000 >= 0xff0 {
			out[i] = "\x0f\x0b"[at%2]
		}
	}
	return out
}

// R2: what scans is asked last, for one frame, and better strategies have the
// next.
func TestR2BetterStrategiesHaveTheFrameBehindAScan(t *testing.T) {
	scan := &scanner{fake{name: "scan", steps: map[uint64][]unwind.Step{
		leafPC: {trusted(step(sp0+16, midPC, 0), unwind.TrustCFI), step(sp0+32, leafPC, 0)},
		midPC:  {step(sp0+48, leafPC, 0)},
	}}}
	good := &fake{name: "good", steps: map[uint64][]unwind.Step{midPC: {step(sp0+64, outerPC, 0)}}}
	s := with(good).behind(scan).Stack(context.Background(), target(unwind.Windows{}), thread(leafPC, sp0, 0, cStack), Options{})
	equal(t, "PCs", pcs(s), []uint64{leafPC, midPC, outerPC})
	if s.Frames[1].Strategy != "scan" || s.Frames[1].Trust != unwind.TrustScan || s.Frames[2].Strategy != "good" {
		t.Errorf("%s %v, %s", s.Frames[1].Strategy, s.Frames[1].Trust, s.Frames[2].Strategy)
	}
}

// calls returns a target with calls right before return addresses, and functions
// whose beginnings are unknown.
func calls(at map[uint64]uint64) *Target {
	unsure := code{}
	for start, fn := range synthetic {
		fn.Exact = false
		unsure[start] = fn
	}
	tg := target(unwind.Windows{})
	tg.Code = calling{code: unsure, calls: at}
	return tg
}

// tables is a strategy with the trust of tables, ahead of a scan.
func tables(steps map[uint64][]unwind.Step, scan *scanner) *Assembler {
	a := with(&fake{name: "tables", steps: steps}).behind(scan)
	a.Strategies[0].Description.Trust = unwind.TrustCFI
	return a
}

func trusts(s unwind.Stack) (out []unwind.Trust) {
	for _, f := range s.Frames {
		out = append(out, f.Trust)
	}
	return out
}

// R1: nothing above a frame that was only guessed is trusted more than it, even
// if frames above bear each other out: they may be of another stack that lay
// there; nor is its end this one's.
func TestR1NothingAboveAGuess(t *testing.T) {
	scan := &scanner{fake{name: "scan", steps: map[uint64][]unwind.Step{leafPC: {step(sp0+32, midPC, 0)}}}}
	a := tables(map[uint64][]unwind.Step{midPC: {bySP(step(sp0+48, outerPC, 0))}, outerPC: {bySP(step(sp0+64, exitPC, 0))}}, scan)
	for name, tg := range map[string]*Target{
		"calls of what registers say":      calls(map[uint64]uint64{outerPC: 0, midPC: 0, exitPC: 0}),
		"calls that led here":              calls(map[uint64]uint64{outerPC: 0x402000, midPC: leafPC - 1, exitPC: 0x403000}),
		"a call of what has another frame": calls(map[uint64]uint64{outerPC: 0x402000, midPC: leafPC, exitPC: 0x403000}),
	} {
		t.Run(name, func(t *testing.T) {
			s := a.Stack(context.Background(), tg, thread(leafPC, sp0, 0, cStack), Options{})
			equal(t, "PCs", pcs(s), []uint64{leafPC, midPC, outerPC, exitPC})
			want := []unwind.Trust{unwind.TrustContext, unwind.TrustScan, unwind.TrustScan, unwind.TrustScan}
			if got := trusts(s); !slices.Equal(got, want) {
				t.Errorf("trust %v, want %v", got, want)
			}
			if s.Stop != unwind.Truncated || !strings.Contains(s.Reason, "frame 1 was only guessed") {
				t.Errorf("%v %q", s.Stop, s.Reason)
			}
		})
	}
}

// A scan whose return address lies where the code says, behind a call that led
// here, is no guess: what is above has the trust it has earned. What the scan took
// for the frame pointer is kept only if the code says so too.
func TestR1ConfirmedScan(t *testing.T) {
	m, err := stackasm.New(unwind.AMD64, sp0).Word(midPC).Pad(64).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	for fp, want := range map[uint64]bool{sp0 + 256: true, sp0 + 512: false} {
		scan := &scanner{fake{name: "scan", steps: map[uint64][]unwind.Step{leafPC: {step(sp0+8, midPC, fp)}}}}
		a := tables(map[uint64][]unwind.Step{midPC: {bySP(step(sp0+48, outerPC, 0))}, outerPC: {bySP(step(sp0+64, exitPC, 0))}}, scan)
		tg := calls(map[uint64]uint64{midPC: 0x401000, outerPC: 0x402000, exitPC: 0x403000})
		tg.Code, tg.Memory = openEnded{tg.Code}, memories(m)
		s := a.Stack(context.Background(), tg, thread(leafPC, sp0, sp0+256, cStack), Options{})
		equal(t, "PCs", pcs(s), []uint64{leafPC, midPC, outerPC, exitPC})
		wantTrust := []unwind.Trust{unwind.TrustContext, unwind.TrustScan, unwind.TrustCFI, unwind.TrustCFI}
		if got := trusts(s); !slices.Equal(got, wantTrust) || s.Stop != unwind.End {
			t.Errorf("trust %v, want %v; %v %q", got, wantTrust, s.Stop, s.Reason)
		}
		if _, known := s.Frames[1].Registers.FP(unwind.AMD64); known != want {
			t.Errorf("frame pointer %#x kept: %v, want %v", fp, known, want)
		}
	}
}

// A frame pointer of 0 ends nothing above a guess: the scan goes on.
func TestGuessedFramePointerEndsNothing(t *testing.T) {
	end := unwind.WalkResult{Stop: unwind.StopEnd, Reason: "frame pointer is 0"}
	scan := &scanner{fake{name: "scan", steps: map[uint64][]unwind.Step{leafPC: {step(sp0+16, midPC, 0)}, midPC: {step(sp0+32, outerPC, 0)}}}}
	s := with(&fake{name: "chain", stop: map[uint64]unwind.WalkResult{midPC: end}}).behind(scan).
		Stack(context.Background(), target(unwind.Windows{}), thread(leafPC, sp0, 0, cStack), Options{})
	equal(t, "PCs", pcs(s), []uint64{leafPC, midPC, outerPC})
	if s.Stop != unwind.Truncated {
		t.Errorf("%v %q", s.Stop, s.Reason)
	}
}

// A frame pointer of 0 in unknown code ends no stack, however the code that it
// called is left: unknown code may keep no frame pointer, and a thread's first is 0.
func TestEndInUnknownCode(t *testing.T) {
	const unknown = 0x40a010
	end := unwind.WalkResult{Stop: unwind.StopEnd, Reason: "frame pointer is 0"}
	for _, rule := range []string{"cfa=rbp+16; ra=[cfa-8]; fp=[cfa-16]", "cfa=rsp+16; ra=[cfa-8]; fp=unchanged"} {
		in := step(sp0+16, unknown, 0)
		in.Rule = rule
		chain := &fake{name: "chain", steps: map[uint64][]unwind.Step{leafPC: {in}}, stop: map[uint64]unwind.WalkResult{unknown: end}}
		s := with(chain).Stack(context.Background(), target(unwind.Windows{}), thread(leafPC, sp0, 0, cStack), Options{})
		if s.Stop != unwind.Truncated {
			t.Errorf("%s: %v %q", rule, s.Stop, s.Reason)
		}
	}
}

// endless returns a scanner that always finds a caller in the same code.
func endless(from, to uint64, n int) *scanner {
	s := &scanner{fake{name: "scan", steps: map[uint64][]unwind.Step{}}}
	s.next = func(sp uint64) []unwind.Step {
		if n--; n < 0 {
			return nil
		}
		return []unwind.Step{step(sp+16, to, 0)}
	}
	return s
}

// A frame pointer out of code that may keep none waits for a scan: a nearer caller
// counts, a farther one does not, and without either it is taken. One that a
// prologue speaks for does not wait.
func TestScanBeforeAGuess(t *testing.T) {
	const unknown = 0x40a010
	plain, framed := []byte{0x90, 0x90, 0x90, 0x90}, []byte{0x55, 0x48, 0x89, 0xe5}
	m, err := stackasm.New(unwind.AMD64, sp0).Pad(16).Word(0).Word(outerPC).Pad(64).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		code     []byte
		scanned  []unwind.Step
		want     uint64
		strategy string
	}{
		"a nearer caller":   {plain, []unwind.Step{step(sp0+24, midPC, 0)}, midPC, "scan"},
		"a farther one":     {plain, []unwind.Step{step(sp0+64, midPC, 0)}, outerPC, "f"},
		"none":              {plain, nil, outerPC, "f"},
		"behind a prologue": {framed, []unwind.Step{step(sp0+24, midPC, 0)}, outerPC, "f"},
	} {
		f := &fake{name: "f", steps: map[uint64][]unwind.Step{unknown: {trusted(step(sp0+32, outerPC, 0), unwind.TrustScan)}}}
		scan := &scanner{fake{name: "scan", steps: map[uint64][]unwind.Step{unknown: c.scanned}}}
		tg := target(memories(m))
		tg.Code = newUnnamed(map[uint64]uint64{outerPC: 0, midPC: 0}, c.code)
		s := with(f).behind(scan).Stack(context.Background(), tg, thread(unknown, sp0, sp0+16, cStack), Options{})
		if len(s.Frames) < 2 || s.Frames[1].PC.Raw() != c.want || s.Frames[1].Strategy != c.strategy {
			t.Errorf("%s: %#x, %+v", name, pcs(s), s.Frames)
		}
	}
}

// A scan for every frame of a deep recursion in unknown code would take too long.
func TestFewGuessesWait(t *testing.T) {
	const unknown, deep = 0x40a010, 1000
	var steps []unwind.Step
	for i := range uint64(deep) {
		steps = append(steps, trusted(step(sp0+32*(i+1), unknown, 0), unwind.TrustScan))
	}
	f := &fake{name: "f", next: func(sp uint64) []unwind.Step { return steps[min((sp-sp0)/32, deep-1):] }}
	scan := &scanner{fake{name: "scan"}}
	tg := target(unwind.Windows{})
	tg.Code = newUnnamed(map[uint64]uint64{unknown: 0}, nil)
	th := thread(unknown, sp0, sp0, unwind.Segment{Low: sp0, High: sp0 + 1<<20, Kind: unwind.SegmentThread})
	s := with(f).behind(scan).Stack(context.Background(), tg, th, Options{})
	if len(s.Frames) <= deep || scan.asked > maxScanned+2 || f.asked > 2*maxScanned+4 {
		t.Errorf("%d frames, %d scans, %d calls; %s", len(s.Frames), scan.asked, f.asked, s.Reason)
	}
}

// R7: 8 frames in a row and 64 in a stack are scanned for, and the stack says
// so.
func TestR7ScanLimits(t *testing.T) {
	in := unwind.Segment{Low: 0x7000_0000, High: 0x7010_0000, Kind: unwind.SegmentThread}
	s := with().behind(endless(leafPC, midPC, 1000)).Stack(context.Background(), target(unwind.Windows{}), thread(leafPC, sp0, 0, in), Options{})
	if len(s.Frames) != 1+maxScannedInRow || s.Stop != unwind.Truncated || !strings.Contains(s.Reason, "8 frames in a row were found by scanning") {
		t.Errorf("%d frames, %v %q", len(s.Frames), s.Stop, s.Reason)
	}
	// Another strategy has every fifth frame: only the limit of a stack counts.
	other := &fake{name: "other"}
	n := 0
	other.next = func(sp uint64) []unwind.Step {
		if n++; n%5 != 0 {
			return nil
		}
		return []unwind.Step{step(sp+16, outerPC, 0)}
	}
	s = with(other).behind(endless(leafPC, midPC, 1000)).Stack(context.Background(), target(unwind.Windows{}), thread(leafPC, sp0, 0, in), Options{})
	scanned := 0
	for _, f := range s.Frames {
		if f.Strategy == "scan" {
			scanned++
		}
	}
	if scanned != maxScanned || s.Stop != unwind.Truncated || !strings.Contains(s.Reason, "64 frames of this stack were found by scanning") {
		t.Errorf("%d scanned, %v %q", scanned, s.Stop, s.Reason)
	}
}

// R7: where an image has symbols for all its functions, a return address lies in
// one of them.
func TestR7KnownFunction(t *testing.T) {
	for pc, want := range map[uint64]int{midPC: 2, 0x405010: 1, 0x40b010: 2} {
		scan := &scanner{fake{name: "scan", steps: map[uint64][]unwind.Step{leafPC: {step(sp0+16, pc, 0)}}}}
		s := with().behind(scan).Stack(context.Background(), target(unwind.Windows{}), thread(leafPC, sp0, 0, cStack), Options{})
		if len(s.Frames) != want || (want == 1) != strings.Contains(s.Reason, "lies in no function") {
			t.Errorf("%#x: %d frames, %q", pc, len(s.Frames), s.Reason)
		}
	}
}

// Where Go's tables or a signal's trampoline rule, nothing is scanned for: on a
// system stack lie the frames of what ran there before.
func TestNoScanWhereTablesRule(t *testing.T) {
	scan := &scanner{fake{name: "scan", steps: map[uint64][]unwind.Step{goCallPC: {step(sp0+160, midPC, 0)}, sigPC: {step(sp0+160, midPC, 0)}}}}
	for _, pc := range []uint64{goCallPC, sigPC} {
		th := thread(pc, sp0, 0, cStack)
		th.FirstPC = unwind.KindReturn
		s := with().behind(scan).Stack(context.Background(), target(unwind.Windows{}), th, Options{})
		if len(s.Frames) != 1 || scan.asked != 0 || !strings.Contains(s.Reason, "scan: ") {
			t.Errorf("%#x: frames %#x, asked %d times, %q", pc, pcs(s), scan.asked, s.Reason)
		}
	}
}

// R8: a scan ends no stack, neither by its word nor by finding what would be an
// outermost function.
func TestR8ScanEndsNoStack(t *testing.T) {
	scan := &scanner{fake{name: "scan", stop: map[uint64]unwind.WalkResult{leafPC: {Stop: unwind.StopEnd, Reason: "I say so"}}}}
	s := with().behind(scan).Stack(context.Background(), target(unwind.Windows{}), thread(leafPC, sp0, 0, cStack), Options{})
	if s.Stop != unwind.Truncated {
		t.Errorf("%v %q", s.Stop, s.Reason)
	}
	scan = &scanner{fake{name: "scan", steps: map[uint64][]unwind.Step{leafPC: {step(sp0+16, exitPC, 0)}}}}
	s = with().behind(scan).Stack(context.Background(), target(unwind.Windows{}), thread(leafPC, sp0, 0, cStack), Options{})
	if len(s.Frames) != 2 || s.Stop != unwind.Truncated || !strings.Contains(s.Reason, "runtime.goexit") {
		t.Errorf("%d frames, %v %q", len(s.Frames), s.Stop, s.Reason)
	}
}

// Code that a strategy asks for comes as original bytes; what cannot be had is an
// empty window, once.
func TestCodeIsSentWhenAskedFor(t *testing.T) {
	f := &asking{need: []unwind.Range{{Start: sigPC, End: sigPC + 4}, {Start: 0x9000_0000, End: 0x9000_0008}}}
	d, _ := f.Describe(context.Background())
	tg := target(unwind.Windows{})
	s := (&Assembler{Strategies: []Strategy{{Description: d, Unwinder: f}}}).Stack(context.Background(), tg, thread(leafPC, sp0, 0, cStack), Options{})
	if len(f.got) != 2 || string(f.got[0].Data) != string(sigreturn[:4]) || len(f.got[1].Data) != 0 || f.got[1].Addr != 0x9000_0000 {
		t.Errorf("sent %+v", f.got)
	}
	if f.asked != 3 || s.Stop != unwind.Truncated || !strings.Contains(s.Reason, "memory at 0x90000000 cannot be read") {
		t.Errorf("asked %d times, %q", f.asked, s.Reason)
	}
}

// asking asks for one piece of memory after the other, and the last again.
type asking struct {
	fake
	need []unwind.Range
	got  unwind.Windows
}

func (a *asking) Walk(_ context.Context, reqs []unwind.WalkRequest) ([]unwind.WalkResult, error) {
	a.asked++
	a.got = reqs[0].Stack[1:]
	return []unwind.WalkResult{{Stop: unwind.StopMemory, Need: a.need[min(len(a.got), len(a.need)-1)]}}, nil
}
