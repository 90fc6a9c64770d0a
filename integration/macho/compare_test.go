package macho

import (
	"fmt"
	"sort"
	"strings"

	"github.com/clewdbg/clew/unwind"
)

// tally counts what became of the stacks.
type tally struct {
	compared, exact int
	doubted         int // exact, and a frame has the trust of a scan only
	// truncated stacks end early, and their frames are right. In incomplete ones a
	// callee-saved register of a caller is not known. Wrong ones have a wrong
	// frame, with the trust of a scan or with more.
	truncated, incomplete, wrongByScan, wrong int
	frames                                    int
	examples                                  map[string]int
}

func (y *tally) add(o *tally) {
	y.compared, y.exact, y.frames = y.compared+o.compared, y.exact+o.exact, y.frames+o.frames
	y.doubted += o.doubted
	y.truncated, y.incomplete = y.truncated+o.truncated, y.incomplete+o.incomplete
	y.wrongByScan, y.wrong = y.wrongByScan+o.wrongByScan, y.wrong+o.wrong
	for k, n := range o.examples {
		y.because(k, n)
	}
}

func (y *tally) because(what string, n int) {
	if y.examples == nil {
		y.examples = map[string]int{}
	}
	y.examples[what] += n
}

// String is a row of results.
func (y *tally) String() string {
	return fmt.Sprintf("%d | %.3f %% | %d | %d | %d | %d | %d", y.compared, 100*float64(y.exact)/float64(max(y.compared, 1)), y.doubted,
		y.truncated, y.incomplete, y.wrongByScan, y.wrong)
}

// reasons lists the most frequent reasons for stacks that are not exact.
func (y *tally) reasons() string {
	var keys []string
	for k := range y.examples {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool {
		a, b := y.examples[keys[i]], y.examples[keys[j]]
		return a > b || a == b && keys[i] < keys[j]
	})
	var b strings.Builder
	for _, k := range keys[:min(len(keys), 40)] {
		fmt.Fprintf(&b, "\n%6d x %s", y.examples[k], k)
	}
	return b.String()
}

// compare asks for the whole stack, and compares every frame.
func (tr *tracer) compare() {
	pc := tr.pc()
	where := tr.where(pc)
	if strings.HasPrefix(where, "dyld_stub_binder") {
		return // a substitute
	}
	var regs unwind.Registers
	for _, r := range append([]unwind.Register{tr.arch.SP(), tr.arch.PC()}, tr.arch.CalleeSaved()...) {
		regs.Set(r, tr.regs[r])
	}
	if tr.arch == unwind.ARM64 {
		for r := range unwind.Register(31) {
			regs.Set(r, tr.regs[r])
		}
	} else {
		for r := range unwind.Register(16) {
			regs.Set(r, tr.regs[r])
		}
	}
	results, err := tr.unwinder.Walk(tr.t.Context(), []unwind.WalkRequest{{Arch: tr.arch, Registers: regs, Kind: unwind.KindInstruction,
		Segment: unwind.Segment{Low: stackAt, High: stackAt + stackSize}, Stack: unwind.Windows{{Addr: stackAt, Data: tr.stack}},
		MaxFrames: 1000, AllRegisters: true}})
	if err != nil {
		tr.t.Fatal(err)
	}
	tr.judge(where, &results[0])
}

func (tr *tracer) judge(where string, result *unwind.WalkResult) {
	y := &tr.tally
	y.compared++
	for i := range result.Steps {
		s := &result.Steps[i]
		problem, missing := tr.check(i, s)
		if problem == "" {
			y.frames++
			continue
		}
		at := where
		if i > 0 {
			from, _ := result.Steps[i-1].Caller.PC(tr.arch)
			at = tr.where(from)
		}
		switch {
		case missing:
			y.incomplete++
		case s.Trust <= unwind.TrustScan:
			y.wrongByScan++
			problem = "by scan: " + problem
		default:
			y.wrong++
			problem = "WRONG: " + problem
		}
		y.because(fmt.Sprintf("%s: %s; %s; %s", at, problem, s.Rule, s.Note), 1)
		return
	}
	// All that is left is the loader, which has no tables.
	if len(result.Steps) != len(tr.Stack) || result.Stop != unwind.StopNoRule {
		y.truncated++
		at := where
		if n := len(result.Steps); n > 0 {
			from, _ := result.Steps[n-1].Caller.PC(tr.arch)
			at = tr.where(from)
		}
		y.because(fmt.Sprintf("%s: %s: %s %x", at, result.Stop, result.Reason, result.Need), 1)
		return
	}
	y.exact++
	for i := range result.Steps {
		if s := &result.Steps[i]; s.Trust <= unwind.TrustScan {
			y.doubted++
			y.because(fmt.Sprintf("%s: exact, but %s; %s", where, s.Rule, s.Note), 1)
			break
		}
	}
	if where == tr.bottom {
		tr.atBottom = len(tr.Stack)
	}
}

// check compares one frame with the truth. missing says that the knowledge of it
// is right.
func (tr *tracer) check(i int, s *unwind.Step) (problem string, missing bool) {
	if i >= len(tr.Stack) {
		return "too many frames", false
	}
	truth := &tr.Stack[len(tr.Stack)-1-i]
	pc, _ := s.Caller.PC(tr.arch)
	sp, _ := s.Caller.SP(tr.arch)
	if pc != truth.RA {
		return fmt.Sprintf("return address %s, truth %s", tr.where(pc), tr.where(truth.RA)), false
	}
	if sp != truth.CFA || s.CFA != truth.CFA {
		return fmt.Sprintf("stack pointer off by %d", int64(sp-truth.CFA)), false
	}
	for _, r := range tr.arch.CalleeSaved() {
		if tr.piece(truth) {
			break
		}
		switch v, ok := s.Caller.Get(r); {
		case !ok:
			problem, missing = "register "+tr.arch.RegisterName(r)+" is not known", true
		case v != truth.Saved[r]:
			return fmt.Sprintf("register %s %#x, truth %#x", tr.arch.RegisterName(r), v, truth.Saved[r]), false
		}
	}
	return problem, missing
}
