//go:build linux

package switches

import (
	"debug/elf"
	"debug/gosym"
	"strings"
	"testing"

	"github.com/clewdbg/clew/unwind"
	"golang.org/x/arch/x86/x86asm"
)

// tour is the places that one scenario passes.
type tour struct {
	scenario string
	from     string   // where it begins
	through  []string // whose instructions it is stopped at
	// deepest returns the stack at the deepest point. What the program stops at on
	// the way has a part of it below the runtime's functions.
	deepest func(*stand) []string
}

var tours = []tour{
	{"grow", "main.armed", list("runtime.morestack", "runtime.morestack_noctxt", "gogo", "runtime.gogo"),
		func(s *stand) []string { return join(s.grows(), toMain) }},
	{"park", "main.armed", list("runtime.mcall", "gogo", "runtime.gogo"),
		func(*stand) []string { return join(list("main.parks"), toMain) }},
	{"nested", "main.nested", list("runtime.asmcgocall", "runtime.asmcgocall_landingpad", "gosave_systemstack_switch", "runtime.cgocallback", "crosscall2", "runtime.systemstack"),
		func(*stand) []string {
			return join(list("main._Cfunc_stop", "main.stopInC"), climbed(6), list("main.nested"), toMain)
		}},
	{"system", "main.onSystem", list("runtime.systemstack", "gosave_systemstack_switch"),
		func(*stand) []string { return join(list("main.stopOnSystem"), system, list("main.onSystem"), toMain) }},
	{"clock", "main.armed", list("time.now", "runtime.nanotime1"),
		func(*stand) []string {
			return join(list("time.now", "time.runtimeNow?", "time.Now", "main.clock"), toMain)
		}},
}

// quiet keeps other goroutines from running much.
var quiet = map[string]string{"GODEBUG": "asyncpreemptoff=1", "GOGC": "off", "GOMAXPROCS": "1"}

// R14: at every single instruction of the functions that switch stacks, before
// the switch, behind it, and in between.
func TestEveryInstruction(t *testing.T) { testEveryInstruction(t, native(t)) }

func testEveryInstruction(t *testing.T, f flavour) {
	exe := f.build(t)
	for _, tour := range tours {
		t.Run(tour.scenario, func(t *testing.T) {
			for name, value := range quiet {
				t.Setenv(name, value)
			}
			s := launch(t, exe, tour.scenario)
			s.until(tour.from)
			left := make(map[uint64]func()) // what clears a breakpoint, by address
			for _, at := range s.instructions(exe, tour.through) {
				left[at] = s.breakAt(at)
			}
			all := len(left)
			for range 20 * all {
				why := s.goOn()
				if why == exited {
					break
				}
				if why != atBreakpoint {
					continue // the deepest point
				}
				stack := s.stack(s.at.id)
				if stack.Stop != unwind.End { // whichever goroutine's
					s.Errorf("truncated\n%s", show(&stack))
				}
				if clear, ok := left[s.at.pc]; ok && s.at.goroutine == 1 {
					clear()
					delete(left, s.at.pc)
					s.checkTour(&stack, tour.deepest(s))
				}
				if len(left) == 0 {
					break
				}
			}
			t.Logf("%d of %d instructions", all-len(left), all)
			if len(left) > all*3/4 {
				t.Errorf("only %d of %d instructions were seen", all-len(left), all)
			}
		})
	}
}

// checkTour checks a stack on the way to the deepest point: all functions of C
// that run now, and what is below the runtime's own. Where the scheduler runs it
// belongs to no goroutine.
func (s *stand) checkTour(stack *unwind.Stack, deepest []string) {
	s.Helper()
	for _, f := range stack.Frames {
		if f.Function == "runtime.schedule" {
			if stack.Stop != unwind.End || strings.HasPrefix(stack.Frames[len(stack.Frames)-1].Function, "main.") {
				s.Errorf("not the scheduler's own stack\n%s", show(stack))
			}
			return
		}
	}
	problem := ""
	for len(deepest) > 0 {
		if problem = s.compare(stack, "goexit", join(list("gosave_systemstack_switch?", "gogo?", runtimes), deepest)); problem == "" {
			return
		}
		deepest = deepest[1:]
	}
	s.Errorf("%s\n%s", problem, show(stack))
}

// instructions lists the addresses of functions' instructions, by Go's table.
func (s *stand) instructions(exe string, names []string) (out []uint64) {
	s.Helper()
	f, err := elf.Open(exe)
	if err != nil {
		s.Fatal(err)
	}
	defer f.Close()
	table, err := f.Section(".gopclntab").Data()
	if err != nil {
		s.Fatal(err)
	}
	text := f.Section(".text")
	code, err := text.Data()
	if err != nil {
		s.Fatal(err)
	}
	funcs, err := gosym.NewTable(nil, gosym.NewLineTable(table, s.symbols["runtime.text"]))
	if err != nil {
		s.Fatal(err)
	}
	for _, fn := range funcs.Funcs {
		found := false
		for _, name := range names {
			found = found || strings.TrimSuffix(fn.Name, ".abi0") == name
		}
		for at := fn.Entry; found && at < fn.End; {
			inst, err := x86asm.Decode(code[at-text.Addr:], 64)
			if err != nil || inst.Op == x86asm.INT {
				break
			}
			out = append(out, at)
			at += uint64(inst.Len)
		}
	}
	return out
}
