package steps

import (
	"fmt"
	"strings"

	"github.com/clewdbg/clew/integration/internal/shadow"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/unwind"
)

// instruction is one of the program's.
type instruction struct {
	kind     shadow.Kind
	goCode   bool
	function assembler.Function
}

// instruction returns the one that the thread executes next.
func (t *tracer) instruction() (instruction, error) {
	pc, _ := t.regs.PC(unwind.AMD64)
	if in, ok := t.code[pc]; ok {
		return in, nil
	}
	var in instruction
	in.function, _ = t.view.Input.Target.Code.Function(unwind.LookupAddr(pc))
	in.goCode = in.function.Go
	var code [15]byte
	n := len(code)
	for ; n > 0 && t.memory.ReadMemory(pc, code[:n]) != nil; n-- {
	}
	if n == 0 {
		return in, fmt.Errorf("no code at %#x", pc)
	}
	in.kind = shadow.KindOf(code[:n])
	t.code[pc] = in
	return in, nil
}

type activation = shadow.Activation

// calls is the stack as call and return instructions make it.
type calls struct {
	stack shadow.Stack
	below int // frames under it that are known by name
	// growing is set while the runtime moves the goroutine to a larger stack, which
	// ends with a jump and not with a return.
	growing bool
	at      activation // of the call of morestack
	depth   int        // of the stack without it
	old     unwind.Segment
}

func (s *calls) settled() bool { return !s.growing }

// enter notes the function whose first instruction comes next.
func (t *tracer) enter() error {
	sp, _ := t.regs.SP(unwind.AMD64)
	pc, _ := t.regs.PC(unwind.AMD64)
	ra, err := t.word(sp)
	if err != nil {
		return err
	}
	s := &t.shadow
	if s.growing {
		return nil
	}
	a := activation{CFA: sp + 8, RA: ra}
	fn, ok := t.view.Input.Target.Code.Function(unwind.LookupAddr(pc))
	if ok && fn.Go && strings.HasPrefix(fn.Name, "runtime.morestack") {
		if err := t.stacks(); err != nil {
			return err
		}
		s.growing, s.at, s.depth = true, a, len(s.stack)
		s.old = goroutineStack(t.thread.Segments)
		return nil
	}
	s.stack.Push(sp, ra)
	if ok && recorded[fn.Name] {
		return t.checkRecord()
	}
	return nil
}

// leave takes the function that has returned off.
func (t *tracer) leave() error {
	s := &t.shadow
	if s.growing {
		return nil
	}
	sp, _ := t.regs.SP(unwind.AMD64)
	pc, _ := t.regs.PC(unwind.AMD64)
	n := len(s.stack)
	if top := s.stack[n-1]; top.CFA != sp || top.RA != pc {
		return fmt.Errorf("the shadow stack is lost: a return to %#x with SP %#x, not to %#x with %#x", pc, sp, top.RA, top.CFA)
	}
	s.stack = s.stack[:n-1]
	return nil
}

// resume notices that the goroutine goes on with its larger stack: all that is
// on it has moved.
func (s *calls) resume(t *tracer) error {
	if !s.growing {
		return nil
	}
	pc, _ := t.regs.PC(unwind.AMD64)
	if pc != s.at.RA {
		return nil
	}
	if err := t.stacks(); err != nil {
		return err
	}
	sp, _ := t.regs.SP(unwind.AMD64)
	now := goroutineStack(t.thread.Segments)
	delta := now.High - s.old.High
	if sp != s.at.CFA+delta {
		return fmt.Errorf("the goroutine's stack moved by %#x, its SP by %#x", delta, sp-s.at.CFA)
	}
	for i := range s.stack {
		if s.old.Contains(s.stack[i].CFA) {
			s.stack[i].CFA += delta
		}
	}
	s.growing = false
	return nil
}

func goroutineStack(segments []unwind.Segment) unwind.Segment {
	for _, s := range segments {
		if s.Kind == unwind.SegmentGoroutine {
			return s
		}
	}
	return unwind.Segment{}
}
