package steptest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/singlestep"
	"github.com/clewdbg/clew/unwind"
)

// Tally counts what was compared.
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

// activation is what was true when a function was entered, or when a signal
// came.
type activation struct {
	cfa, ra uint64
	saved   singlestep.Registers
	signal  bool
}

// mark is where the program returned to, and how many activations there were then.
type mark struct {
	sp    uint64
	depth int
}

// Tracer steps through one program.
type Tracer struct {
	T        testing.TB
	Machine  Machine
	Program  singlestep.Program
	Unwinder unwind.Unwinder
	// Images tells of images that are new since the last call, and of all
	// executable mappings.
	Images func() (unwind.ImageDelta, []unwind.Range, error)
	// Counts says whether an instruction counts, nil for all.
	Counts func(pc uint64) bool
	// Function returns the function around an instruction, for strategies that want
	// its code; nil where none does.
	Function func(pc uint64) *unwind.FunctionCode
	// Status is what the program ends with.
	Status int
	// Wrong is told of wrong steps; nil fails the test.
	Wrong func(pc uint64, problem string)

	// Problem is told of what is wrong with an image; nil fails the test.
	Problem func(string)

	maps   unwind.RangeSet // executable mappings
	cover  unwind.RangeSet
	stack  []activation
	marks  map[uint64]mark // by the address
	got    Tally
	count  int
	last   Kind
	window [4096]byte
}

// Run steps through the program to its end.
func (tr *Tracer) Run() Tally {
	tr.T.Helper()
	deadline := time.Now().Add(5 * time.Minute)
	for result := (singlestep.Result{}); ; {
		if time.Now().After(deadline) {
			tr.T.Fatal("the program does not end")
		}
		tr.look(result.Signal)
		var err error
		if result, err = tr.Program.Step(); err != nil {
			tr.T.Fatal(err)
		}
		if result.Ended {
			if result.Status != tr.Status {
				tr.T.Fatalf("the program failed: status %d", result.Status)
			}
			return tr.got
		}
	}
}

func (tr *Tracer) word(addr uint64) uint64 {
	var b [8]byte
	if tr.Program.Read(addr, b[:]) != 8 {
		tr.T.Fatalf("no memory at %#x", addr)
	}
	return tr.Machine.Order.Uint64(b[:])
}

// look looks at the state before the next instruction, or before a signal is
// delivered.
func (tr *Tracer) look(signal bool) {
	regs, err := tr.Program.Registers()
	if err != nil {
		tr.T.Fatal(err)
	}
	m := &tr.Machine
	pc, sp := regs[m.Arch.PC()], regs[m.Arch.SP()]
	n := len(tr.stack)
	switch {
	case tr.last == Call:
		cfa, ra := m.Entered(tr.word, &regs)
		tr.stack = append(tr.stack, activation{cfa: cfa, ra: ra, saved: regs})
	case n > 0 && (tr.last == Return || tr.last == MaybeReturn && pc == tr.stack[n-1].ra):
		if tr.stack[n-1].cfa != sp+m.Above {
			tr.T.Fatalf("shadow stack lost at %#x: SP %#x, not %#x", pc, sp, tr.stack[n-1].cfa-m.Above)
		}
		tr.returned(pc, sp, n-1)
	case tr.landed(pc, sp):
		tr.stack = tr.stack[:tr.marks[pc].depth] // longjmp
	case n > 0 && tr.stack[n-1].signal && pc == tr.stack[n-1].ra && sp == tr.stack[n-1].cfa:
		tr.stack = tr.stack[:n-1] // back from the handler
	default: // out of functions at once: longjmp
		for ; n > 0 && !tr.stack[n-1].signal && sp+m.Above+m.Pushed > tr.stack[n-1].cfa; n-- {
			tr.stack = tr.stack[:n-1]
		}
	}
	if signal {
		// The handler is entered as if the trampoline had called it.
		tr.stack = append(tr.stack, activation{cfa: sp, ra: pc, saved: regs, signal: true})
		tr.last = Call
		return
	}
	var b [16]byte
	tr.last = m.Kind(b[:tr.Program.Read(pc, b[:])])
	if len(tr.stack) == 0 {
		return
	}
	tr.update(pc)
	if tr.Counts == nil || tr.Counts(pc) {
		tr.compare(pc, &regs)
	}
}

// returned says that the activation at a depth has returned.
func (tr *Tracer) returned(pc, sp uint64, depth int) {
	if tr.marks == nil {
		tr.marks = map[uint64]mark{}
	}
	tr.marks[pc] = mark{sp, depth}
	tr.stack = tr.stack[:depth]
}

// landed says that a longjmp came here: to where setjmp returned before, with more
// activations and the same stack pointer. Where calls push the return address the
// stack pointer alone tells.
func (tr *Tracer) landed(pc, sp uint64) bool {
	m, ok := tr.marks[pc]
	return ok && tr.Machine.Pushed == 0 && m.sp == sp && m.depth < len(tr.stack)
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

// wholeEvery is of how many instructions one has its whole stack walked.
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
		maxFrames = len(tr.stack)
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
	top := len(tr.stack) - 1
	if maxFrames > 1 {
		tr.got.Walks++
		if len(result.Steps) < maxFrames {
			tr.got.Cut++
			tr.show(tr.got.Cut, "%#x: %d of %d frames: %v %q need %#x", pc, len(result.Steps), maxFrames, result.Stop, result.Reason, result.Need)
		}
	}
	for i := range result.Steps {
		problem := tr.check(&result.Steps[i], &tr.stack[top-i])
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

// wrong counts a wrong answer and tells of it.
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

func (tr *Tracer) check(step *unwind.Step, truth *activation) string {
	m := &tr.Machine
	ra, _ := step.Caller.PC(m.Arch)
	sp, _ := step.Caller.SP(m.Arch)
	switch {
	case step.CFA != truth.cfa:
		return fmt.Sprintf("CFA %#x, truth %#x", step.CFA, truth.cfa)
	case sp != truth.cfa-m.Above:
		return fmt.Sprintf("SP %#x, truth %#x", sp, truth.cfa-m.Above)
	case ra != truth.ra:
		return fmt.Sprintf("return address %#x, truth %#x", ra, truth.ra)
	case (step.CallerKind == unwind.KindInstruction) != truth.signal:
		return fmt.Sprintf("the caller's PC is %v", step.CallerKind)
	}
	if truth.signal {
		tr.got.Signals++
	}
	if strings.Contains(step.Rule, "expr:") {
		tr.got.Expressions++
	}
	for _, reg := range m.Saved {
		v, ok := step.Caller.Get(reg)
		if !ok || v != truth.saved[reg] {
			return fmt.Sprintf("%s %#x (%v), truth %#x", m.Arch.RegisterName(reg), v, ok, truth.saved[reg])
		}
		tr.got.Saved++
	}
	return ""
}

// update tells the strategy of images that are new when code runs outside the
// known mappings.
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
