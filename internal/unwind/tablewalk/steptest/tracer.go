package steptest

import (
	"context"
	"fmt"
	"strings"

	"github.com/clewdbg/clew/internal/singlestep"
	"github.com/clewdbg/clew/unwind"
)

// Tally counts the comparisons.
type Tally struct {
	Right, Wrong int
	Refused      int // covered, but there was no step
	Uncovered    int
	Doubtful     int // wrong, with the trust of a scanned frame
	Walks        int // whole stacks
	Frames, Cut  int // of those: right behind the first, stacks that ended early
	Signals      int // steps out of signal frames
	Expressions  int // steps by expressions
	Saved        int // callee-saved registers right
}

// Add adds another tally.
func (s *Tally) Add(o *Tally) {
	s.Right, s.Wrong, s.Refused, s.Uncovered = s.Right+o.Right, s.Wrong+o.Wrong, s.Refused+o.Refused, s.Uncovered+o.Uncovered
	s.Doubtful += o.Doubtful
	s.Walks, s.Frames, s.Cut = s.Walks+o.Walks, s.Frames+o.Frames, s.Cut+o.Cut
	s.Signals, s.Expressions, s.Saved = s.Signals+o.Signals, s.Expressions+o.Expressions, s.Saved+o.Saved
}

// String writes the tally.
func (s Tally) String() string {
	return fmt.Sprintf("right %d wrong %d (and %d with a note that they may be) refused %d not covered %d; by expressions %d, of signal frames %d, callee-saved registers right %d; "+
		"whole stacks %d with %d frames right, %d ended early",
		s.Right, s.Wrong, s.Doubtful, s.Refused, s.Uncovered, s.Expressions, s.Signals, s.Saved, s.Walks, s.Frames, s.Cut)
}

// Tracer compares the steps of a strategy with the truth.
type Tracer struct {
	Shadow
	Unwinder unwind.Unwinder
	// Images returns the images that are new since the last call, and all
	// executable mappings.
	Images func() (unwind.ImageDelta, []unwind.Range, error)
	// Counts reports whether an instruction counts, nil for all.
	Counts func(pc uint64) bool
	// Function returns the function around an instruction, for strategies that want
	// its code; nil if none does.
	Function func(pc uint64) *unwind.FunctionCode
	// Wrong is called for wrong steps; nil fails the test.
	Wrong func(pc uint64, problem string)

	// Problem is called for a fault of an image; nil fails the test.
	Problem func(string)

	maps   unwind.RangeSet // executable mappings
	cover  unwind.RangeSet
	got    Tally
	count  int
	window [4096]byte
}

// Run steps through the program to its end.
func (tr *Tracer) Run() Tally {
	tr.T.Helper()
	tr.Visit = func(pc uint64, regs *singlestep.Registers) {
		tr.update(pc)
		if tr.Counts == nil || tr.Counts(pc) {
			tr.compare(pc, regs)
		}
	}
	tr.Shadow.Run()
	return tr.got
}

func (tr *Tracer) request(regs *singlestep.Registers, maxFrames int) unwind.WalkResult {
	arch := tr.Machine.Arch
	low := regs[arch.SP()] - tr.Machine.RedZone
	n := tr.Program.Read(low, tr.window[:])
	r := unwind.WalkRequest{Arch: arch, Kind: unwind.KindInstruction, MaxFrames: maxFrames, AllRegisters: true,
		Stack: unwind.Windows{{Addr: low, Data: tr.window[:n]}}}
	for reg, v := range regs {
		if !strings.HasPrefix(arch.RegisterName(unwind.Register(reg)), "reg") {
			r.Registers.Set(unwind.Register(reg), v)
		}
	}
	if tr.Function != nil {
		r.Function = tr.Function(regs[arch.PC()])
	}
	for {
		results, err := tr.Unwinder.Walk(context.Background(), []unwind.WalkRequest{r})
		if err != nil {
			tr.T.Fatal(err)
		}
		need := results[0].Need
		if results[0].Stop != unwind.StopMemory {
			return results[0]
		}
		data := make([]byte, need.End-need.Start)
		if tr.Program.Read(need.Start, data) != len(data) {
			return results[0]
		}
		r.Stack = append(r.Stack, unwind.Window{Addr: need.Start, Data: data})
	}
}

// wholeEvery is the interval, in instructions, at which the whole stack is
// walked.
const wholeEvery = 97

// compare makes a step and compares it with the shadow stack.
func (tr *Tracer) compare(pc uint64, regs *singlestep.Registers) {
	if !tr.cover.Contains(pc) {
		tr.got.Uncovered++
		return
	}
	tr.count++
	maxFrames := 1
	if tr.count%wholeEvery == 0 {
		maxFrames = len(tr.Stack)
	}
	result := tr.request(regs, maxFrames)
	if len(result.Steps) < maxFrames && result.Stop == unwind.StopEnd {
		tr.wrong(pc, fmt.Sprintf("%d of %d frames, and then it is said to be the end: %s", len(result.Steps), maxFrames, result.Reason))
		return
	}
	if len(result.Steps) == 0 {
		tr.got.Refused++
		tr.show(tr.got.Refused, "%#x: %v %q need %#x", pc, result.Stop, result.Reason, result.Need)
		return
	}
	top := len(tr.Stack) - 1
	if maxFrames > 1 {
		tr.got.Walks++
		if len(result.Steps) < maxFrames {
			tr.got.Cut++
			tr.show(tr.got.Cut, "%#x: %d of %d frames: %v %q need %#x", pc, len(result.Steps), maxFrames, result.Stop, result.Reason, result.Need)
		}
	}
	for i := range result.Steps {
		problem := tr.check(&result.Steps[i], &tr.Stack[top-i])
		switch {
		case problem != "" && i == 0 && result.Steps[i].Trust == unwind.TrustScan && result.Steps[i].Note != "":
			tr.got.Doubtful++
			return
		case problem != "":
			tr.wrong(pc, fmt.Sprintf("step %d of %d: %s; %s", i, len(result.Steps), problem, result.Steps[i].Rule))
			return
		case i > 0:
			tr.got.Frames++
		default:
			tr.got.Right++
		}
	}
}

// wrong counts and reports a wrong answer.
func (tr *Tracer) wrong(pc uint64, problem string) {
	tr.got.Wrong++
	if tr.Wrong != nil {
		tr.Wrong(pc, problem)
		return
	}
	tr.show(tr.got.Wrong, "wrong at %#x, %s", pc, problem)
	tr.T.Fail()
}

func (tr *Tracer) show(n int, format string, args ...any) {
	if n <= 5 {
		tr.T.Logf(format, args...)
	}
}

func (tr *Tracer) check(step *unwind.Step, truth *Activation) string {
	m := &tr.Machine
	ra, _ := step.Caller.PC(m.Arch)
	sp, _ := step.Caller.SP(m.Arch)
	switch {
	case step.CFA != truth.CFA:
		return fmt.Sprintf("CFA %#x, truth %#x", step.CFA, truth.CFA)
	case sp != truth.CFA-m.Above:
		return fmt.Sprintf("SP %#x, truth %#x", sp, truth.CFA-m.Above)
	case ra != truth.RA:
		return fmt.Sprintf("return address %#x, truth %#x", ra, truth.RA)
	case (step.CallerKind == unwind.KindInstruction) != truth.Signal:
		return fmt.Sprintf("the caller's PC is %v", step.CallerKind)
	}
	if truth.Signal {
		tr.got.Signals++
	}
	if strings.Contains(step.Rule, "expr:") {
		tr.got.Expressions++
	}
	for _, reg := range m.Saved {
		v, ok := step.Caller.Get(reg)
		if !ok || v != truth.Saved[reg] {
			return fmt.Sprintf("%s %#x (%v), truth %#x", m.Arch.RegisterName(reg), v, ok, truth.Saved[reg])
		}
		tr.got.Saved++
	}
	return ""
}

// update announces new images to the strategy when code runs outside the known
// mappings.
func (tr *Tracer) update(pc uint64) {
	if tr.maps.Contains(pc) {
		return
	}
	delta, maps, err := tr.Images()
	if err != nil {
		tr.T.Fatal(err)
	}
	tr.maps = unwind.NewRangeSet(maps...)
	reports, err := tr.Unwinder.Update(context.Background(), delta)
	if err != nil {
		tr.T.Fatal(err)
	}
	for _, r := range reports {
		tr.cover = tr.cover.Union(r.Coverage)
		switch {
		case r.Problem == "":
		case tr.Problem != nil:
			tr.Problem(r.Problem)
		default:
			tr.T.Errorf("image %d: %s", r.ID, r.Problem)
		}
	}
}
