package switches

import (
	"context"
	"debug/elf"
	"encoding/binary"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/plugins/dwarfcfi"
	"github.com/clewdbg/clew/plugins/fpwalk"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/unwind"
)

// patience is far above what any run takes.
const patience = 2 * time.Minute

// stand is the program under the debugger.
type stand struct {
	testing.TB
	ctx     context.Context
	session *delve.Session
	engine  *engine.Engine
	symbols map[string]uint64
	view    *live.View
	chosen  uint64 // thread that has come to where it should, 0 for the one that Delve tells of
}

func launch(t testing.TB, exe, scenario string) *stand {
	t.Helper()
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	session, err := delve.Launch(delve.LaunchConfig{Args: []string{exe, scenario}, NoStdin: true, Stdout: null})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("leave the program: %v", err)
		}
	})
	return &stand{TB: t, ctx: ctx, session: session, symbols: symbolsOf(t, exe),
		engine: engine.New([]engine.Named{{Name: unwind.StrategyDWARF, Unwinder: dwarfcfi.New()}, {Name: unwind.StrategyFP, Unwinder: fpwalk.New()}})}
}

func symbolsOf(t testing.TB, exe string) map[string]uint64 {
	t.Helper()
	f, err := elf.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]uint64, len(list))
	for _, s := range list {
		out[strings.TrimSuffix(s.Name, ".abi0")] = s.Value
	}
	return out
}

// run lets the program go on to its next stop.
func (s *stand) run() delve.Stop {
	s.Helper()
	s.chosen = 0
	stop, err := s.session.Continue(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	if s.ctx.Err() != nil {
		s.Fatal("the program did not stop")
	}
	return stop
}

// until runs to a breakpoint at a function that only the scenario calls.
func (s *stand) until(fn string) {
	s.Helper()
	id := s.breakAt(s.locate(fn)...)
	if stop := s.run(); stop.Reason != delve.StopBreakpoint {
		s.Fatalf("stopped with %s, not at %s", stop.Reason, fn)
	}
	s.clear(id)
}

func (s *stand) locate(fn string) []uint64 {
	s.Helper()
	addrs, err := s.session.Locate(fn)
	if err != nil {
		s.Fatal(err)
	}
	return addrs
}

func (s *stand) breakAt(addrs ...uint64) int {
	s.Helper()
	id, err := s.session.BreakAt(addrs...)
	if err != nil {
		s.Fatal(err)
	}
	return id
}

func (s *stand) clear(id int) {
	s.Helper()
	if err := s.session.ClearBreak(id); err != nil {
		s.Fatal(err)
	}
}

func (s *stand) look() {
	s.Helper()
	var err error
	if s.view, err = live.Look(s.session, false); err != nil {
		s.Fatal(err)
	}
}

func (s *stand) threads() []delve.Thread {
	s.Helper()
	list, err := s.view.Threads()
	if err != nil {
		s.Fatal(err)
	}
	return list
}

// stack gives the stack of the thread that stopped the program.
func (s *stand) stack() (unwind.Stack, delve.Thread) {
	s.Helper()
	s.look()
	th, err := s.view.Current()
	if err != nil {
		s.Fatal(err)
	}
	for _, other := range s.threads() {
		if other.ID == s.chosen {
			th = other
		}
	}
	if note := s.view.Claim(&th, 0); note != "" {
		s.Log(note)
	}
	return s.engine.Prepare(s.ctx, &s.view.Input).Stack(s.ctx, &th.Thread, assembler.Options{}), th
}

func (s *stand) word(addr uint64) uint64 {
	s.Helper()
	var b [8]byte
	if err := s.session.Memory().ReadMemory(addr, b[:]); err != nil {
		s.Fatal(err)
	}
	return binary.LittleEndian.Uint64(b[:])
}

// entry is a C function that runs: see native.c.
type entry struct{ fn, ra, cfa uint64 }

// trail reads the C functions, innermost first.
func (s *stand) trail() (out []entry) {
	s.Helper()
	base := s.symbols["trail"]
	for i := range s.word(base) {
		at := base + 8 + 24*i
		out = append(out, entry{s.word(at), s.word(at + 8), s.word(at + 16)})
	}
	slices.Reverse(out)
	return out
}

// Elements of an expected stack that are no names of functions.
const (
	// recorded is the next function of C on the trail.
	recorded = "C"
	// runtimes are any number of the runtime's functions.
	runtimes = "runtime..."
	// anyFrame is one frame, whatever it is: cgo's stubs, libc's trampoline.
	anyFrame = "*"
)

// Stretches of expected stacks.
var (
	toMain = []string{"main.main", "runtime.main", "runtime.goexit"}
	goToC  = []string{"runtime.asmcgocall", "runtime.cgocall"}
	cToGo  = []string{"_cgoexp_*_rung", "runtime.cgocallbackg1", "runtime.cgocallbackg", "runtime.cgocallbackg?", "runtime.cgocallback", "crosscall2", anyFrame}
)

func join(lists ...[]string) []string { return slices.Concat(lists...) }

func list(names ...string) []string { return names }

// climbed is what lies below the function that rung calls after n rungs; C
// thread's when main is not at its bottom.
func climbed(n int) (out []string) {
	out = append(out, "main.rung")
	for range n + 1 {
		out = join(out, cToGo, list(recorded), goToC, list("main._Cfunc_level", "main.climb", "main.rung"))
	}
	return out[:len(out)-1]
}

// check compares a stack with what is expected, innermost first. reason is part
// of what the stack's end must say.
func (s *stand) check(stack *unwind.Stack, reason string, want ...string) {
	s.Helper()
	if problem := s.compare(stack, reason, want); problem != "" {
		s.Errorf("%s\nwant %q\n%s", problem, want, show(stack))
	}
}

func (s *stand) compare(stack *unwind.Stack, reason string, want []string) string {
	trail := s.trail()
	var frames []unwind.Frame
	for _, f := range stack.Frames {
		if !f.Inlined {
			frames = append(frames, f)
		}
	}
	for i := range frames {
		f := &frames[i]
		if at := uint64(f.PC.Lookup(unwind.AMD64)); !s.view.Input.Target.Executable.Contains(at) {
			return "frame outside executable memory: " + f.Function
		}
		for len(want) > 0 && mayMiss(want, f) {
			want = want[1:]
		}
		switch {
		case len(want) > 0 && want[0] == runtimes:
			continue
		case len(want) == 0:
			return "too many frames, from " + f.Function + " on"
		case want[0] == recorded:
			if len(trail) == 0 {
				return "no function is on record for " + f.Function
			}
			e := trail[0]
			trail = trail[1:]
			if pc := f.PC.Raw(); pc < e.fn || pc > e.fn+256 || f.CFA != e.cfa || i+1 == len(frames) || frames[i+1].PC.Raw() != e.ra {
				return "not what was recorded: " + f.Function
			}
		case !matches(want, f):
			return "unexpected " + f.Function + ", not " + want[0]
		}
		want = want[1:]
	}
	for len(want) > 0 && want[0] == runtimes {
		want = want[1:]
	}
	switch {
	case len(want) > 0:
		return "missing from " + want[0] + " on"
	case len(trail) > 0:
		return "not every function of C came"
	case stack.Stop != unwind.End:
		return "the stack is truncated"
	case !strings.Contains(stack.Reason, reason):
		return "another end than " + reason
	}
	return ""
}

// mayMiss says that f is not the optional element that comes first.
func mayMiss(want []string, f *unwind.Frame) bool {
	if want[0] == runtimes {
		return !strings.HasPrefix(f.Function, "runtime.") || matches(want[1:], f)
	}
	return strings.HasSuffix(want[0], "?") && !matches(want, f)
}

func matches(want []string, f *unwind.Frame) bool {
	if len(want) == 0 {
		return false
	}
	if want[0] == anyFrame || want[0] == anyFrame+"?" {
		return true
	}
	ok, _ := path.Match(strings.TrimSuffix(want[0], "?"), strings.TrimSuffix(f.Function, ".abi0"))
	return ok && want[0] != recorded
}
