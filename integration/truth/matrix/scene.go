//go:build linux && (amd64 || arm64)

package matrix

import (
	"runtime"
	"slices"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/integration/internal/stand"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// column is a scenario of the program, and the instructions to stop at.
type column struct {
	Title string
	program.Scenario
	Places []stand.Place
	// Above are the frames above the program's record: of the functions that run
	// because of the stop.
	Above []program.Expected
	// Core: the program crashes, and a core file is asked.
	Core bool
	// Handled: Go's handler of the signal, on top of the stack, is not compared.
	Handled bool
	// For is what only some builds can do, nil for what all can.
	For func(r *row) bool
}

// in says that the column is one of the build's.
func (c *column) in(r *row) bool { return c.For == nil || c.For(r) }

// stopHere is the breakpoint instruction that the program itself executes.
var stopHere = []stand.Place{{}}

// from lists the instructions from the one that is first steps behind a place.
func from(name string, first, last int) (places []stand.Place) {
	for i := first; i <= last; i++ {
		places = append(places, stand.Place{Name: name, Steps: i})
	}
	return places
}

// columns are the scenarios.
var columns = []column{
	{Title: "call", Scenario: scenario("plain", "int3"), Places: stopHere},
	{Title: "callback", Scenario: scenario("callback", "int3"), Places: stopHere,
		Above: []program.Expected{{What: "runtime.breakpoint", Name: "runtime.breakpoint"}, {What: "runtime.Breakpoint", Name: "runtime.Breakpoint", Optional: true}}},
	{Title: "nested", Scenario: scenario("nested", "int3"), Places: stopHere},
	{Title: "signal", Scenario: scenario("plain", "raise"), Places: stopHere},
	{Title: "SIGSEGV", Scenario: program.Scenario{Name: "plain", Stop: "segv", Groups: scenario("plain", "int3").Groups},
		Places: from("runtime.fatalsignal", 0, 0), Above: handler},
	{Title: "thread", Scenario: scenario("thread", "int3"), Places: stopHere},
	{Title: "thread, signal", Scenario: scenario("thread-signal", "raise"), Places: stopHere},
	{Title: "thread, Go", Scenario: scenario("thread-calling", "int3"), Places: stopHere},
	{Title: "leaf", Scenario: program.Scenario{Name: "plain", Stop: "tiny", Groups: scenario("plain", "int3").Groups},
		Places: from("leaf_tiny", 0, 1)},
	{Title: "prologue", Scenario: program.Scenario{Name: "plain", Stop: "break", Groups: scenario("plain", "int3").Groups},
		Places: from("leaf_break", 0, 3)},
	{Title: "PLT", Scenario: program.Scenario{Name: "plain", Stop: "plt", Groups: scenario("plain", "int3").Groups},
		Places: from("plt_call", 1, 5)},
	{Title: "throw", Scenario: exception("catching"), Places: from("throw", 0, 0), For: (*row).cpp},
	{Title: "cleanup", Scenario: exception("cleaning"), Places: stopHere, For: (*row).throws},
	{Title: "catch", Scenario: exception("catching"), Places: stopHere, For: (*row).throws},
}

// cores are the columns of -cores: the stack is a core file's, of a crash in C.
var cores = []column{
	{Title: "call", Scenario: crash("plain"), Core: true},
	{Title: "nested", Scenario: crash("nested"), Core: true},
	{Title: "thread", Scenario: crash("thread"), Core: true},
	{Title: "thread, Go", Scenario: crash("thread-calling"), Core: true},
	{Title: "SIGSEGV", Scenario: program.Scenario{Name: "plain", Stop: "segv", Groups: scenario("plain", "int3").Groups}, Core: true, Handled: true},
}

// crash is a scenario that ends in a breakpoint instruction that nothing handles.
func crash(name string) program.Scenario {
	s := scenario(name, "int3")
	s.Stop = "core"
	return s
}

// handler is Go's of a fatal signal, and the trampoline that the kernel let it
// be called by.
var handler = []program.Expected{
	{What: "runtime.fatalsignal", Name: "runtime.fatalsignal"},
	{What: "runtime.sighandler", Name: "runtime.sighandler"},
	{What: "runtime.sigtrampgo", Name: "runtime.sigtrampgo"},
	{What: "runtime.sigtramp", Name: "runtime.sigtramp"},
	{What: "the trampoline", Image: trampoline},
}

// trampoline is the image whose code calls the kernel to return from a signal.
var trampoline = map[string]string{"amd64": "libc", "arm64": "[vdso]"}[runtime.GOARCH]

// scenario is one of the integration tests'.
func scenario(name, stop string) program.Scenario {
	i := slices.IndexFunc(program.Scenarios, func(s program.Scenario) bool { return s.Name == name && s.Stop == stop })
	return program.Scenarios[i]
}

func exception(name string) program.Scenario {
	return program.Scenario{Name: name, Stop: "int3", Groups: []program.GoNames{program.AndMain("main._Cfunc_outer_"+name, "main."+name)}}
}

// truth is the whole stack of a stop of this column.
func (c *column) truth(record []program.Entry, pc uint64) []program.Expected {
	want := program.Expect(record, c.Groups)
	if len(c.Above) == 0 && pc == record[0].RA {
		// The steps were so many that the function that was called has returned: a PLT
		// entry whose symbol was bound already.
		want = want[1:]
		want[0].Callee = nil
	}
	if last := len(record) - 1; last >= 0 && record[last].Kind == 'T' {
		// The last return address on record lies in libc's code that starts threads.
		// Its caller, if it has one, is the system call's code.
		want = append(want, program.Expected{What: "libc's clone", Image: "libc", Optional: true})
	}
	want = append(slices.Clone(c.Above), want...)
	want[0].Kind = string(stackjson.KindPC)
	if len(c.Above) == 0 {
		want[0].PC = pc
	}
	return want
}
