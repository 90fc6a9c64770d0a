// Package exclusive steps through sequences of exclusive instructions on linux/arm64:
//
//	stepping exclusive PROGRAM
//
// PROGRAM is integration/arm64/testdata/exclusive. For each of its ways to count, steps of
// instructions and of lines must lead out of the loop, breakpoints at the load and at the store must be hit
// once for each call, no step may end between a load and its store, and no count may be lost. It runs inside
// the emulation.
package exclusive

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/clewdbg/clew/integration/internal/shadow"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/held"
	"github.com/clewdbg/clew/server/stepping"
)

// Main runs it as a program: its arguments are those of the process.
func Main() {
	failed := false
	for _, w := range ways {
		f, err := find(os.Args[1], w.symbol)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		for _, try := range tries {
			result := "right"
			if err := run(os.Args[1], w.name, f, try.do); err != nil {
				result, failed = "WRONG: "+err.Error(), true
			}
			fmt.Printf("%s, %s: %s\n", w.name, try.what, result)
		}
	}
	if failed {
		os.Exit(1)
	}
}

// ways are those in which the program counts, and the functions.
var ways = []struct{ name, symbol string }{{"c", "count_in_c"}, {"lines", "count_lines"}, {"go", "program/counter.Add"}}

// calls is how often the program calls the function.
const calls = 4

var tries = []struct {
	what string
	do   func(*session) error
}{
	{"instructions from the beginning", func(s *session) error { return s.leave(s.f.start, s.instruction) }},
	{"instructions from the load", func(s *session) error { return s.leave(s.f.load, s.instruction) }},
	{"lines from the beginning", func(s *session) error { return s.leave(s.f.start, s.line) }},
	{"lines from the load", func(s *session) error { return s.leave(s.f.load, s.line) }},
	{"a breakpoint at the load", func(s *session) error { return s.hits(s.f.load) }},
	{"a breakpoint at the store", func(s *session) error { return s.hits(s.f.store) }},
}

// function is one with one sequence.
type function struct{ start, end, load, store uint64 }

// behind is where the code goes on behind the branch that follows the store.
func (f *function) behind() uint64 { return f.store + 8 }

// find finds a function, and its sequence, in a program that is loaded where it was linked for.
func find(path, symbol string) (f function, err error) {
	file, err := elf.Open(path)
	if err != nil {
		return f, err
	}
	defer file.Close()
	symbols, err := file.Symbols()
	if err != nil {
		return f, err
	}
	text := file.Section(".text")
	code, err := text.Data()
	if err != nil {
		return f, err
	}
	for _, s := range symbols {
		if strings.TrimSuffix(s.Name, ".abi0") != symbol || s.Size == 0 || s.Value-text.Addr >= text.Size {
			continue
		}
		f = function{start: s.Value, end: s.Value + s.Size}
		body := code[f.start-text.Addr : f.end-text.Addr]
		for i := 0; i < len(body); i += 4 {
			if behind := shadow.BehindExclusive(body[i:]); shadow.KindOfARM64(body[i:]) == shadow.Exclusive && behind != 0 {
				f.load, f.store = f.start+uint64(i), f.start+uint64(i+behind-8)
				return f, nil
			}
		}
	}
	return f, fmt.Errorf("%s: no function %s with exclusive instructions", path, symbol)
}

type session struct {
	*delve.Session
	f function
}

// run starts the program, tries something, and has it run to its end.
func run(path, way string, f function, try func(*session) error) error {
	s, err := delve.Launch(delve.LaunchConfig{Args: []string{path, way}, NoStdin: true})
	if err != nil {
		return err
	}
	defer s.Close()
	tried := &session{s, f}
	if err := try(tried); err != nil {
		return err
	}
	stop, err := tried.goOn()
	if err == nil && (stop.Reason != held.StopExited || stop.ExitStatus != 0) {
		err = fmt.Errorf("at the end: %+v", stop)
	}
	return err
}

// patience is for one resume.
const patience = time.Minute

func (s *session) goOn() (held.Stop, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return s.Continue(ctx)
}

func (s *session) instruction() error {
	_, err := s.StepInstruction()
	return err
}

func (s *session) line() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	stop, err := s.Step(ctx, stepping.Next)
	if err == nil && stop.Reason != held.StopStepped {
		err = fmt.Errorf("a step ends with %+v", stop)
	}
	return err
}

// most is how many steps may be needed to leave the loop: the function has fewer instructions.
const most = 12

// leave steps from a place in the function until the loop is behind.
func (s *session) leave(from uint64, step func() error) error {
	id, err := s.BreakAt(from)
	if err != nil {
		return err
	}
	if stop, err := s.goOn(); err != nil || stop.Breakpoint != id {
		return fmt.Errorf("no stop at %#x: %+v, %w", from, stop, err)
	}
	if err := s.ClearBreak(id); err != nil {
		return err
	}
	for range most {
		if err := step(); err != nil {
			return err
		}
		pc, err := s.pc()
		switch {
		case err != nil:
			return err
		case pc > s.f.load && pc <= s.f.store:
			return fmt.Errorf("a step ends inside the sequence, at %#x", pc)
		case pc >= s.f.behind() && pc < s.f.end:
			return nil
		case pc < s.f.start || pc >= s.f.end:
			return fmt.Errorf("a step leaves the function, to %#x", pc)
		}
	}
	return errors.New("the loop is not left")
}

// hits counts that a breakpoint is hit once for each call.
func (s *session) hits(at uint64) error {
	id, err := s.BreakAt(at)
	if err != nil {
		return err
	}
	for i := range calls {
		if stop, err := s.goOn(); err != nil || stop.Breakpoint != id {
			return fmt.Errorf("call %d: %+v, %w", i, stop, err)
		}
	}
	return nil
}

func (s *session) pc() (uint64, error) {
	th, err := s.CurrentThread(nil)
	if err != nil {
		return 0, err
	}
	pc, _ := th.Registers.PC(s.Arch())
	return pc, nil
}
