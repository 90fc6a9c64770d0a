package conformance

import (
	"errors"
	"fmt"
	"strings"

	"github.com/clewdbg/clew/unwind"
)

// judge returns the fault of an answer that no request may have.
func judge(d *unwind.Description, request *unwind.WalkRequest, result *unwind.WalkResult) error {
	if n := len(result.Steps); n > request.MaxFrames {
		return fmt.Errorf("%d steps where %d were the limit", n, request.MaxFrames)
	}
	if err := judgeStop(request, result); err != nil {
		return err
	}
	sp, spKnown := request.Registers.SP(request.Arch)
	pc, _ := request.Registers.PC(request.Arch)
	for i := range result.Steps {
		step := &result.Steps[i]
		callerPC, ok1 := step.Caller.PC(request.Arch)
		callerSP, ok2 := step.Caller.SP(request.Arch)
		if !ok2 && request.Arch == unwind.ARM64 { // the CFA is a lower bound of it (R12)
			callerSP, ok2 = step.CFA, true
		}
		switch {
		case !ok1 || !ok2:
			return fmt.Errorf("step %d: the caller has no PC or no SP", i)
		case step.Trust == unwind.TrustNone || step.Trust > d.Trust:
			return fmt.Errorf("step %d: trust %v; the strategy says that it has %v at most", i, step.Trust, d.Trust)
		case !strings.HasPrefix(step.Rule, "cfa="):
			return fmt.Errorf("step %d: rule %q is no equation for the CFA", i, step.Rule)
		case step.CallerKind > unwind.KindReturn:
			return fmt.Errorf("step %d: unknown kind of PC %d", i, step.CallerKind)
		case i > 0 && step.CFA <= result.Steps[i-1].CFA:
			return fmt.Errorf("step %d: CFA %#x does not increase", i, step.CFA)
		case !spKnown:
		case callerSP < sp, callerSP == sp && (i > 0 || callerPC == pc):
			// Equal only where the first frame is a leaf that keeps the return
			// address in a register (R3).
			return fmt.Errorf("step %d: SP %#x does not increase above %#x", i, callerSP, sp)
		}
		sp, spKnown, pc = callerSP, true, callerPC
	}
	return nil
}

// judgeStop reports whether the reason for stopping goes with the rest.
func judgeStop(request *unwind.WalkRequest, result *unwind.WalkResult) error {
	needless := result.Need == unwind.Range{}
	switch result.Stop {
	case unwind.StopMemory:
		return judgeNeed(request, result.Need)
	case unwind.StopLimit:
		if len(result.Steps) != request.MaxFrames {
			return fmt.Errorf("stopped for the limit of %d steps after %d", request.MaxFrames, len(result.Steps))
		}
	case unwind.StopYield:
		if len(result.Steps) == 0 {
			return errors.New("yields without a step; the frame asked about is the strategy's to unwind")
		}
	case unwind.StopEnd, unwind.StopNoRule, unwind.StopBroken:
		if result.Reason == "" {
			return fmt.Errorf("stop %q without a reason", result.Stop)
		}
	default:
		return fmt.Errorf("unknown stop %d", result.Stop)
	}
	if !needless {
		return fmt.Errorf("stop %q asks for memory", result.Stop)
	}
	return nil
}

// judgeNeed reports whether memory that is asked for brings the walk further.
func judgeNeed(request *unwind.WalkRequest, need unwind.Range) error {
	switch {
	case need.Start >= need.End:
		return fmt.Errorf("asks for empty memory [%#x, %#x)", need.Start, need.End)
	case need.End-need.Start > MaxNeed:
		return fmt.Errorf("asks for %d bytes at once, more than %d", need.End-need.Start, MaxNeed)
	}
	for _, w := range request.Stack {
		if w.Contains(need.Start, int(need.End-need.Start)) {
			return fmt.Errorf("asks for memory [%#x, %#x) that it was given", need.Start, need.End)
		}
	}
	return nil
}

func describeRequest(r *unwind.WalkRequest) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v %v", r.Arch, r.Kind)
	for reg, v := range r.Registers.All() {
		fmt.Fprintf(&b, " %s=%#x", r.Arch.RegisterName(reg), v)
	}
	return b.String()
}

func describeResult(r *unwind.WalkResult) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d steps, stop %q %q cfa=%#x pc=%#x need=%#x", len(r.Steps), r.Stop, r.Reason, r.CFA, r.PC, r.Need)
	for _, step := range r.Steps {
		fmt.Fprintf(&b, "\n  %+v", step)
	}
	return b.String()
}
