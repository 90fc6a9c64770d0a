package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/server/pluginhost"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/unwind"
)

// patience bounds a round trip to a plugin: a slow machine is to be measured,
// not to be refused.
const patience = time.Minute

// stopped is a program that stands at its breakpoint, again and again.
type stopped struct {
	session *delve.Session
	host    *pluginhost.Host
	engine  *engine.Engine
	process *live.Process
	view    *live.View
	thread  reading.Thread
	ready   *engine.Prepared
}

// stopAt runs the program to its first stop at a location. list names the
// strategies, best ranked first.
func stopAt(program, location string, list []string, args ...string) (*stopped, error) {
	args = append(append([]string{program}, args...), filepath.Join(filepath.Dir(program), "pulse"))
	session, err := delve.Launch(delve.LaunchConfig{Args: args, NoStdin: true})
	if err != nil {
		return nil, err
	}
	s := &stopped{session: session, process: live.NewProcess(session)}
	var configs []pluginhost.Config
	for i, name := range list {
		configs = append(configs, pluginhost.Config{Name: name, Rank: i})
	}
	if s.host, err = pluginhost.New(pluginhost.Options{Plugins: configs, WalkTimeout: patience}); err == nil {
		_, err = live.NewProcess(session).RunTo(context.Background(), nil, location)
	}
	if err != nil {
		_ = s.close()
		return nil, err
	}
	var order []engine.Named
	for _, name := range list {
		order = append(order, engine.Named{Name: name, Unwinder: s.host.Plugin(name)})
	}
	s.engine = engine.New(order)
	return s, s.prepare()
}

func (s *stopped) close() error {
	if s.host != nil {
		_ = s.host.Close()
	}
	return s.session.Close()
}

// again lets the program run to its next stop, whose stack is not known yet.
func (s *stopped) again() error {
	if _, err := s.session.Continue(context.Background()); err != nil {
		return err
	}
	return s.prepare()
}

// prepare does the work that is done once for a stop.
func (s *stopped) prepare() (err error) {
	if s.view, err = s.process.Read(false); err != nil {
		return err
	}
	s.ready = s.engine.Prepare(context.Background(), &s.view.Input)
	s.thread, err = s.view.Current()
	return err
}

// delve has Delve find the whole stack.
func (s *stopped) delve(least int) error {
	claims, err := s.session.Claims(s.thread, 2*least)
	if err == nil && len(claims) < least {
		err = fmt.Errorf("%d frames of %d in Delve's stack", len(claims), least)
	}
	return err
}

// assembled assembles the whole stack, without Delve's frames.
func (s *stopped) assembled(least int) error {
	if err := s.prepare(); err != nil {
		return err
	}
	stack := s.ready.Stack(context.Background(), &s.thread.Thread, assembler.Options{})
	return whole(&stack, least)
}

// shown does what `clew stack` does.
func (s *stopped) shown(least int) error {
	ctx := context.Background()
	at, err := stop.At(ctx, s.process, nil, false)
	if err != nil {
		return err
	}
	th, err := at.Current()
	if err != nil {
		return err
	}
	prepared, err := at.Prepare(ctx, s.engine)
	if err != nil {
		return err
	}
	threads := []reading.Thread{th}
	stacks := at.All(ctx, prepared, threads, stop.AllOptions{})
	if len(threads[0].Claims) == 0 {
		return fmt.Errorf("no frames of Delve's: %v", stacks[0].Notes)
	}
	return whole(&stacks[0], least)
}

// whole is an error if a stack is not complete.
func whole(stack *unwind.Stack, least int) error {
	if len(stack.Frames) < least || stack.Stop != unwind.End {
		return fmt.Errorf("clew finds %d frames of %d; %s: %v", len(stack.Frames), least, stack.Reason, stack.Notes)
	}
	return nil
}

// where is a program that recurs: in C under Go, or in Go alone.
type where struct{ name, scenario, location string }

var (
	inC  = where{"C", "wait", "landmark"}
	inGo = where{"Go", "climb", "main.summit"}
)

// wholeStacks measures clew's whole way for one stack beside Delve's own, at
// the stops of one program.
func wholeStacks(t *table, program string) error {
	t.title = "A whole stack of a stopped program, beside Delve's own"
	t.notes = []string{"Recursion in Go, or in C under Go; all frames named. Every figure is of another stop of the same\n" +
		"program than the first. Once a stop: the work before all stacks (mappings, images, the thread). Assembled:\n" +
		"that, and the stack by the strategy in its plugin process. As shown: with Delve's first 1,000 frames matched\n" +
		"to it too; `clew stack` has all of them."}
	t.header = []string{"frames", "in", "strategy", "Delve", "once a stop", "assembled", "against Delve", "as shown", "against Delve"}
	for _, in := range []where{inGo, inC} {
		for _, n := range []int{20, 50, 1_000, 10_000} {
			for _, name := range []string{unwind.StrategyDWARF, unwind.StrategyFP} {
				if err := wholeStack(t, program, in, n, name); err != nil {
					return err
				}
				if in == inGo {
					break // Go's own tables serve, whatever the strategy
				}
			}
		}
	}
	return nil
}

func wholeStack(t *table, program string, in where, n int, strategy string) error {
	s, err := stopAt(program, in.location, []string{strategy}, in.scenario, fmt.Sprint(n))
	if err != nil {
		return err
	}
	run := func() error { _, err := s.session.Continue(context.Background()); return err }
	r, err := compare(t.rounds,
		contender{name: "Delve", before: run, run: func() error { return s.delve(n) }},
		contender{name: "once a stop", before: run, run: s.prepare},
		contender{name: "assembled", before: run, run: func() error { return s.assembled(n) }},
		contender{name: "as shown", before: run, run: func() error { return s.shown(n) }},
	)
	if cerr := s.close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if in == inGo {
		strategy = "Go's tables"
	}
	t.row(fmt.Sprint(n), in.name, strategy, r[0].total(), r[1].total(), r[2].total(), r[2].to(r[0]), r[3].total(), r[3].to(r[0]))
	return nil
}
