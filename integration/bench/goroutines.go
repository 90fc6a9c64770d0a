package main

import (
	"context"
	"fmt"
	"path/filepath"

	delveproc "github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/debugger"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/unwind"
)

// goroutines measures the stacks of many goroutines.
func goroutines(t *table, program string) error {
	t.title = "The stacks of all goroutines, to CBF, beside Delve listing them"
	t.notes = []string{"Parked goroutines, up to eight calls deep. Delve: lists the goroutines and their stacks (at most 50\n" +
		"frames each). clew: lists them, assembles and names every stack, and encodes it, as\n" +
		"`clew stack --goroutine all` does. Delve and clew hold two runs of one program, one after the other."}
	t.header = []string{"goroutines", "Delve", "clew", "against Delve"}
	for _, n := range []int{100, 1_000, 10_000} {
		r, err := compareGoroutines(t.rounds, program, n)
		if err != nil {
			return err
		}
		t.row(fmt.Sprint(n), r[0].total(), r[1].total(), r[1].to(r[0]))
	}
	return nil
}

func compareGoroutines(rounds int, program string, n int) ([]result, error) {
	rounds = min(rounds, 5)
	s, err := stopAt(program, inC.location, []string{unwind.StrategyDWARF, unwind.StrategyFP}, "crowd", fmt.Sprint(n))
	if err != nil {
		return nil, err
	}
	ours, err := compare(rounds, contender{name: "clew", before: s.again, run: func() error { return s.goroutines(n) }})
	if cerr := s.close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, err
	}
	// One process can hold one live session of Delve at a time: they cannot take
	// turns.
	d, err := delveAt(program, n)
	if err != nil {
		return nil, err
	}
	theirs, err := compare(rounds, contender{name: "Delve", before: d.again, run: func() error { return d.goroutines(n) }})
	if cerr := d.dbg.Detach(true); err == nil {
		err = cerr
	}
	return append(theirs, ours...), err
}

// goroutines assembles and encodes every goroutine's stack.
func (s *stopped) goroutines(least int) error {
	all, err := s.view.Goroutines()
	if err != nil {
		return err
	}
	if len(all) < least {
		return fmt.Errorf("clew lists %d goroutines of %d", len(all), least)
	}
	for i := range all {
		if all[i].ID != 0 { // as clew stack does: of parked goroutines Delve is not asked
			if note := stop.Claim(s.view, &all[i], 0); note != "" {
				return fmt.Errorf("%s", note)
			}
		}
		stack := s.ready.Stack(context.Background(), &all[i].Thread, assembler.Options{})
		if _, err := export.EncodeStack(&stack, cbf.Word64, cbf.EncodeOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// alone is Delve by itself on the same program.
type alone struct{ dbg *debugger.Debugger }

func delveAt(program string, n int) (*alone, error) {
	dbg, err := debugger.New(&debugger.Config{Backend: "default", ExecuteKind: debugger.ExecutingExistingFile, Stdin: "/dev/null"},
		[]string{program, "crowd", fmt.Sprint(n), filepath.Join(filepath.Dir(program), "pulse")})
	if err != nil {
		return nil, err
	}
	d := &alone{dbg}
	if _, err = dbg.CreateBreakpoint(&api.Breakpoint{FunctionName: "C.landmark"}, "", nil, false); err == nil {
		err = d.again()
	}
	if err != nil {
		_ = dbg.Detach(true)
	}
	return d, err
}

func (d *alone) again() error {
	state, err := d.dbg.Command(&api.DebuggerCommand{Name: api.Continue}, nil, nil, nil)
	if err == nil && state.Exited {
		err = fmt.Errorf("the program ended")
	}
	return err
}

// goroutines lists goroutines with their stacks, as Delve does.
func (d *alone) goroutines(least int) error {
	group, unlock := d.dbg.LockTargetGroup()
	defer unlock()
	all, _, err := delveproc.GoroutinesInfo(group.Selected, 0, 0)
	if err != nil {
		return err
	}
	if len(all) < least {
		return fmt.Errorf("%d goroutines of %d in Delve's list", len(all), least)
	}
	for _, g := range all {
		if _, err := delveproc.GoroutineStacktrace(group.Selected, g, 50, 0); err != nil {
			return err
		}
	}
	return nil
}
