package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/clewdbg/clew/integration/internal/inprocess"
	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/unwind"
)

// target is a program that stands still, and its true stack.
type target struct {
	session  *delve.Session
	prepared *engine.Prepared
	input    *engine.Input
	thread   unwind.Thread
	memory   *pages
	truth    []frame
	live     []unwind.Range // the parts of stacks that hold the true frames
	returns  []uint64       // every return address of the true stack
}

// frame is what makes a frame right.
type frame struct{ pc, sp uint64 }

func frameOf(f *unwind.Frame) frame {
	sp, _ := f.Registers.SP(unwind.AMD64)
	return frame{f.PC.Raw(), sp}
}

// stop runs the program to its own stop and takes its stack in.
func stop(p program.Program, scenario, dir string) (*target, error) {
	session, stem, err := inprocess.Launch(p, scenario, "int3", dir)
	if err != nil {
		return nil, err
	}
	t := &target{session: session}
	if err := t.readStop(stem); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *target) close() { _ = t.session.Close() }

func (t *target) readStop(stem string) error {
	if _, err := live.NewProcess(t.session).RunTo(context.Background(), nil); err != nil {
		return err
	}
	view, err := live.NewProcess(t.session).Read(false)
	if err != nil {
		return err
	}
	current, err := view.Current()
	if err != nil {
		return err
	}
	t.thread = current.Thread
	t.memory = newPages(view.Input.Target.Memory)
	t.input = &view.Input
	t.input.Names = nil
	t.prepared = engine.New(inprocess.Strategies()).Prepare(context.Background(), t.input)
	stack := t.stack(t.memory, t.thread)
	if stack.Stop != unwind.End {
		return fmt.Errorf("the true stack is not known: %s", stack.Reason)
	}
	for i := range stack.Frames {
		t.truth = append(t.truth, frameOf(&stack.Frames[i]))
		t.returns = append(t.returns, stack.Frames[i].PC.Raw())
	}
	t.findLive(&stack)
	return t.checkRecord(stem)
}

// stack assembles the stack of a thread with that memory.
func (t *target) stack(m unwind.Memory, th unwind.Thread) unwind.Stack {
	t.input.Target.Memory = m
	return t.prepared.Stack(context.Background(), &th, assembler.Options{})
}

// findLive takes, of every stack that frames lie on, what lies between the
// lowest and the highest of them.
func (t *target) findLive(stack *unwind.Stack) {
	for i, seg := range t.thread.Segments {
		var r unwind.Range
		for k := range stack.Frames {
			f := &stack.Frames[k]
			if f.Segment != i {
				continue
			}
			sp := frameOf(f).sp
			if r.End == 0 {
				r.Start = sp
			}
			r.End = max(r.End, sp)
			if seg.Contains(f.CFA) {
				r.End = max(r.End, f.CFA)
			}
		}
		if r.End > r.Start {
			t.live = append(t.live, r)
		}
	}
}

// checkRecord compares the true stack with the program's own record.
func (t *target) checkRecord(stem string) error {
	record, err := program.ReadRecord(stem, t.thread.ID)
	if err != nil {
		return err
	}
	if len(record) < 3 {
		return errors.New("the program has recorded next to nothing")
	}
	for _, e := range record {
		if !slices.Contains(t.truth, frame{e.RA, e.CFA}) {
			return fmt.Errorf("the program recorded return address %#x at CFA %#x, which the stack has not", e.RA, e.CFA)
		}
	}
	return nil
}
