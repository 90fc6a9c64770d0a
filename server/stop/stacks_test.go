package stop_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/stepping"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/server/stop/stoptest"
	"github.com/clewdbg/clew/unwind"
)

// TestStacks is what a terminal does: strategies are opened when the first stack
// with C code is asked for, and closed at the end.
func TestStacks(t *testing.T) {
	opened, closed, epoch := 0, 0, uint64(0)
	s := stop.NewStacks(stop.StacksOptions{Strategies: func() ([]engine.Named, func(), error) {
		opened++
		return stoptest.Strategies(unwind.TrustCFI), func() { closed++ }, nil
	}}, func() uint64 { return epoch })
	p := stoptest.New(10)
	if _, err := s.GoStack(1, 1); !errors.Is(err, stop.ErrNoProgram) {
		t.Errorf("no program: %v", err)
	}
	s.Watch(p, p)
	inGo, err := s.GoStack(0, 10)
	if err != nil || len(inGo.Frames) != 10 || opened != 0 {
		t.Fatalf("%+v, %v; opened %d times", inGo, err, opened)
	}
	if d, err := s.Plan(stop.Step{Command: stepping.Next, Here: true}); err != nil || d.Action != stepping.Delegate || opened != 0 {
		t.Errorf("%+v, %v; opened %d times", d, err, opened)
	}
	p.Selection = reading.Selection{Thread: stoptest.CThread}
	if inC, err := s.GoStack(-1, 10); inC != nil || err != nil {
		t.Errorf("%+v, %v", inC, err)
	}
	inC, err := s.Whole(-1, 10)
	if err != nil || len(inC.Frames) != 10 || opened != 1 {
		t.Fatalf("%+v, %v; opened %d times", inC, err, opened)
	}
	if parked, err := s.Whole(stoptest.Parked, 10); err != nil || len(parked.Frames) != 10 || parked.Frames[0].DelveFrame != 0 {
		t.Errorf("%+v, %v", parked, err)
	}
	if _, err := s.Whole(77, 10); err == nil || !strings.Contains(err.Error(), "no goroutine 77") {
		t.Errorf("no such goroutine: %v", err)
	}
	regs, err := s.Registers(inC, 3)
	if sp, ok := regs.SP(unwind.AMD64); err != nil || !ok || sp != inC.Frames[2].CFA {
		t.Errorf("%#x, %v", sp, err)
	}
	if f, err := s.Frame(unwind.Code(0x401010, unwind.KindInstruction)); err != nil || f == nil || f.Function != "leaf" {
		t.Errorf("%+v, %v", f, err)
	}
	if f, err := s.Frame(unwind.Code(0x501010, unwind.KindInstruction)); err != nil || f != nil {
		t.Errorf("Go code is described: %+v, %v", f, err)
	}
	views := p.Views()
	s.Changed()
	if _, err := s.Whole(-1, 10); err != nil || p.Views() != views+1 {
		t.Errorf("after a write: %d views, then %d; %v", views, p.Views(), err)
	}
	epoch++
	if _, err := s.Whole(-1, 10); err != nil || p.Views() != views+2 || opened != 1 {
		t.Errorf("at the next stop: %d views, then %d; %v", views, p.Views(), err)
	}
	s.Close()
	if closed != 1 {
		t.Errorf("closed %d times", closed)
	}
}

// TestStacksWithoutStrategies: the user is told once, and Go's stacks are there.
func TestStacksWithoutStrategies(t *testing.T) {
	var told []string
	failure := errors.New("no plugins")
	s := stop.NewStacks(stop.StacksOptions{
		Strategies: func() ([]engine.Named, func(), error) { return nil, nil, failure },
		Notify:     func(text string) { told = append(told, text) }, Patience: time.Minute,
	}, func() uint64 { return 0 })
	p := stoptest.New(10)
	s.Watch(p, p)
	for range 2 {
		if _, err := s.Whole(1, 10); !errors.Is(err, failure) {
			t.Error(err)
		}
	}
	if len(told) != 1 || !strings.Contains(told[0], "no plugins") {
		t.Errorf("told %q", told)
	}
	if st, err := s.GoStack(1, 10); err != nil || len(st.Frames) != 10 {
		t.Errorf("%+v, %v", st, err)
	}
	s.Close()
}
