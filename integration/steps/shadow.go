package main

import (
	"fmt"
	"strings"

	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/unwind"
	"golang.org/x/arch/x86/x86asm"
)

// kind is the effect of an instruction on the shadow stack.
type kind int

const (
	otherKind kind = iota
	callKind
	returnKind
	syscallKind
)

// instruction is one of the program's.
type instruction struct {
	kind     kind
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
	// Instructions that the decoder does not know (endbr64, vector instructions) are none of
	// these.
	if x, err := x86asm.Decode(code[:n], 64); err == nil {
		switch x.Op {
		case x86asm.CALL:
			in.kind = callKind
		case x86asm.RET:
			in.kind = returnKind
		case x86asm.SYSCALL:
			in.kind = syscallKind
		}
	}
	t.code[pc] = in
	return in, nil
}

// activation is the state when a function was entered.
type activation struct{ cfa, ra uint64 }

// shadow is the stack as call and return instructions make it.
type shadow struct {
	stack []activation // outermost first
	below int          // frames under it that are known by name
	// growing is set while the runtime moves the goroutine to a larger stack, which
	// ends with a jump and not with a return.
	growing bool
	at      activation // of the call of morestack
	depth   int        // of the stack without it
	old     unwind.Segment
}

func (s *shadow) settled() bool { return !s.growing }

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
	a := activation{cfa: sp + 8, ra: ra}
	fn, ok := t.view.Input.Target.Code.Function(unwind.LookupAddr(pc))
	if ok && fn.Go && strings.HasPrefix(fn.Name, "runtime.morestack") {
		if err := t.stacks(); err != nil {
			return err
		}
		s.growing, s.at, s.depth = true, a, len(s.stack)
		s.old = goroutineStack(t.thread.Segments)
		return nil
	}
	s.stack = append(s.stack, a)
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
	if top := s.stack[n-1]; top.cfa != sp || top.ra != pc {
		return fmt.Errorf("the shadow stack is lost: a return to %#x with SP %#x, not to %#x with %#x", pc, sp, top.ra, top.cfa)
	}
	s.stack = s.stack[:n-1]
	return nil
}

// resume notices that the goroutine goes on with its larger stack: all that is
// on it has moved.
func (s *shadow) resume(t *tracer) error {
	if !s.growing {
		return nil
	}
	pc, _ := t.regs.PC(unwind.AMD64)
	if pc != s.at.ra {
		return nil
	}
	if err := t.stacks(); err != nil {
		return err
	}
	sp, _ := t.regs.SP(unwind.AMD64)
	now := goroutineStack(t.thread.Segments)
	delta := now.High - s.old.High
	if sp != s.at.cfa+delta {
		return fmt.Errorf("the goroutine's stack moved by %#x, its SP by %#x", delta, sp-s.at.cfa)
	}
	for i := range s.stack {
		if s.old.Contains(s.stack[i].cfa) {
			s.stack[i].cfa += delta
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
