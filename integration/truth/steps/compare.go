package steps

import (
	"context"
	"fmt"
	"regexp"
	"sort"

	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/unwind"
)

// tally counts what became of the stacks.
type tally struct {
	compared, right, truncated int
	wrong                      [unwind.TrustContext + 1]int // by the trust of the first wrong frame
	early                      int                          // that claim to end, too early
	checked                    int                          // entries of the program's own record found in the shadow stack
	ways                       int                          // stacks that were assembled in other ways too
	frames                     int
	reasons                    map[string]*example // of truncation and wrong frames
}

type example struct {
	n     int
	first string
}

var number = regexp.MustCompile(`0x[0-9a-f]+|\b[0-9]+\b`)

func (y *tally) because(reason, where string) {
	if y.reasons == nil {
		y.reasons = make(map[string]*example)
	}
	key := number.ReplaceAllString(reason, "N")
	e := y.reasons[key]
	if e == nil {
		e = &example{first: where + ": " + reason}
		y.reasons[key] = e
	}
	e.n++
}

func (y *tally) sorted() []string {
	var keys []string
	for k := range y.reasons {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool { return y.reasons[keys[i]].n > y.reasons[keys[j]].n })
	return keys
}

func (y *tally) wrongFrames() (above, scan int) {
	for trust, n := range y.wrong {
		if unwind.Trust(trust) > unwind.TrustScan {
			above += n
		} else {
			scan += n
		}
	}
	return above + y.early, scan
}

// waysEvery: of how many stacks one is assembled in every way.
const waysEvery = 5000

// compare assembles the stack of the thread as it stands, and compares it with
// the shadow stack.
func (t *tracer) compare() error {
	t.seen++
	if t.every > 1 && t.seen%t.every != 0 {
		return nil
	}
	if t.stale {
		if err := t.stacks(); err != nil {
			return err
		}
	}
	t.thread.Registers = t.regs
	stack := t.prepared.Stack(context.Background(), &t.thread, assembler.Options{})
	t.tally.compared++
	t.tally.frames += len(stack.Frames)
	t.judge(&stack)
	if t.tally.compared%waysEvery == 1 {
		return t.checkWays(&stack)
	}
	return nil
}

func (t *tracer) judge(stack *unwind.Stack) {
	y := t.tally
	for i := range stack.Frames {
		f := &stack.Frames[i]
		if problem := t.check(i, f); problem != "" {
			y.wrong[f.Trust]++
			y.because(fmt.Sprintf("WRONG, trust %s by %s: %s", f.Trust, f.Strategy, problem), t.where())
			return
		}
	}
	switch all := len(t.shadow.stack) + t.shadow.below + 1; {
	case stack.Stop == unwind.Truncated:
		y.truncated++
		y.because("truncated: "+stack.Reason, t.where())
	case len(stack.Frames) != all:
		y.early++
		y.because(fmt.Sprintf("WRONG: ends with %d of %d frames: %s", len(stack.Frames), all, stack.Reason), t.where())
	default:
		y.right++
	}
}

// where is the instruction that the thread stands at.
func (t *tracer) where() string {
	pc, _ := t.regs.PC(unwind.AMD64)
	if t.view == nil {
		return fmt.Sprintf("%#x", pc)
	}
	fn, _ := t.view.Input.Target.Code.Function(unwind.LookupAddr(pc))
	return fmt.Sprintf("%s+%#x (%#x)", fn.Name, pc-fn.Start, pc)
}

// check returns the fault of a frame, "" if none.
func (t *tracer) check(i int, f *unwind.Frame) string {
	stack := t.shadow.stack
	switch {
	case i == 0:
		return ""
	case i <= len(stack):
		truth := stack[len(stack)-i]
		sp, _ := f.Registers.SP(unwind.AMD64)
		if f.PC.Raw() != truth.RA || f.PC.Kind() != unwind.KindReturn {
			return fmt.Sprintf("frame %d is %s, truth %#x", i, t.name(f), truth.RA)
		}
		if sp != truth.CFA {
			return fmt.Sprintf("frame %d (%s) has SP %#x, truth %#x", i, t.name(f), sp, truth.CFA)
		}
	case i <= len(stack)+t.shadow.below:
		want := t.scenario.below[i-len(stack)-1]
		if got := t.name(f); got != want {
			return fmt.Sprintf("frame %d is %s, truth %s", i, got, want)
		}
	default:
		return fmt.Sprintf("frame %d (%s) is too many", i, t.name(f))
	}
	return ""
}

func (t *tracer) name(f *unwind.Frame) string {
	if t.view != nil {
		if fn, ok := t.view.Input.Target.Code.Function(f.PC.Lookup(unwind.AMD64)); ok && fn.Name != "" {
			return fn.Name
		}
	}
	return fmt.Sprintf("%#x", f.PC.Raw())
}
