package memory

import (
	"context"

	"github.com/clewdbg/clew/integration/internal/inprocess"
	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/unwind"
)

// target is a program that stands still, and its true stack.
type target struct {
	*inprocess.Stopped
	prepared *engine.Prepared
	input    *engine.Input
	thread   unwind.Thread
	memory   unwind.Memory
	truth    []inprocess.Frame
	live     []unwind.Range // the parts of stacks that hold the true frames
	returns  []uint64       // every return address of the true stack
}

// stop runs the program to its own stop and takes its stack in.
func stop(p program.Program, scenario, dir string) (*target, error) {
	s, err := inprocess.Stop(p, scenario, dir)
	if err != nil {
		return nil, err
	}
	t := &target{Stopped: s, input: s.Input, thread: s.Thread, memory: s.Input.Target.Memory, truth: s.Truth()}
	t.prepared = engine.New(inprocess.Strategies()).Prepare(context.Background(), t.input)
	for _, f := range t.truth {
		t.returns = append(t.returns, f.PC)
	}
	t.findLive()
	return t, nil
}

// stack assembles the stack of a thread with that memory.
func (t *target) stack(m unwind.Memory, th unwind.Thread) unwind.Stack {
	t.input.Target.Memory = m
	return t.prepared.Stack(context.Background(), &th, assembler.Options{})
}

// findLive takes, of every stack that frames lie on, what lies between the
// lowest and the highest of them.
func (t *target) findLive() {
	for i, seg := range t.thread.Segments {
		var r unwind.Range
		for k := range t.Stack.Frames {
			f := &t.Stack.Frames[k]
			if f.Segment != i {
				continue
			}
			sp := t.truth[k].SP
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
