package inprocess

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/unwind"
)

// Stopped is a program that stands still at its own stop, and its true stack.
type Stopped struct {
	Session *delve.Session
	Input   *engine.Input
	Thread  unwind.Thread
	Stack   unwind.Stack // complete, and with every return address that the program has recorded
}

// Stop runs the program to its own stop and takes its stack in.
func Stop(p program.Program, scenario, dir string) (*Stopped, error) {
	session, stem, err := Launch(p, scenario, "int3", dir)
	if err != nil {
		return nil, err
	}
	s := &Stopped{Session: session}
	if err := s.read(stem); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close ends the program.
func (s *Stopped) Close() { _ = s.Session.Close() }

func (s *Stopped) read(stem string) error {
	if _, err := live.NewProcess(s.Session).RunTo(context.Background(), nil); err != nil {
		return err
	}
	view, err := live.NewProcess(s.Session).Read(false)
	if err != nil {
		return err
	}
	current, err := view.Current()
	if err != nil {
		return err
	}
	s.Thread = current.Thread
	s.Input = &view.Input
	s.Input.Names = nil
	s.Input.Target.Memory = NewPages(s.Input.Target.Memory)
	s.Stack = engine.New(Strategies()).Prepare(context.Background(), s.Input).Stack(context.Background(), &s.Thread, assembler.Options{})
	if s.Stack.Stop != unwind.End {
		return fmt.Errorf("the true stack is not known: %s", s.Stack.Reason)
	}
	return s.checkRecord(stem)
}

// Frame is what makes a frame right.
type Frame struct{ PC, SP uint64 }

// FrameOf returns it of a frame.
func FrameOf(f *unwind.Frame) Frame {
	sp, _ := f.Registers.SP(unwind.AMD64)
	return Frame{f.PC.Raw(), sp}
}

// Truth lists the frames, innermost first.
func (s *Stopped) Truth() (truth []Frame) {
	for i := range s.Stack.Frames {
		truth = append(truth, FrameOf(&s.Stack.Frames[i]))
	}
	return truth
}

// checkRecord compares the true stack with the program's own record.
func (s *Stopped) checkRecord(stem string) error {
	record, err := program.ReadRecord(stem, s.Thread.ID)
	if err != nil {
		return err
	}
	if len(record) < 3 {
		return errors.New("the program has recorded next to nothing")
	}
	truth := s.Truth()
	for _, e := range record {
		if !slices.Contains(truth, Frame{e.RA, e.CFA}) {
			return fmt.Errorf("the program recorded return address %#x at CFA %#x, which the stack has not", e.RA, e.CFA)
		}
	}
	return nil
}
