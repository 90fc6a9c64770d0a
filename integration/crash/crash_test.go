//go:build linux

package crash

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

func TestMain(m *testing.M) {
	testkit.Main(m, testkit.Clew)
}

// limit bounds one command.
const limit = 60 * time.Second

// dies builds the program that dies; pure without cgo.
func dies(t testing.TB, pure bool) string {
	t.Helper()
	testneed.Platform(t, "linux/amd64", "linux/arm64")
	name, env := "dies-pure", []string{"CGO_ENABLED=0"}
	if !pure {
		testneed.CC(t)
		testneed.Tool(t, "g++")
		name, env = "dies", []string{"CGO_ENABLED=1"}
	}
	path, err := testkit.Once(name, func() (string, error) {
		return testkit.Path(name), testkit.GoIn("testdata/dies", env, "build", "-o", testkit.Path(name), ".")
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// way is a way to die, with what the source says of it.
type way struct {
	how         string
	signal      string // "" where Go's runtime ends the program without one
	code        string
	access      string
	description string // a part of it
	message     string // the first line of it, which the program has printed too; "" for none
	function    string // that was interrupted or that panicked, "" where none has a name
	pure        bool   // needs a program without cgo
	unseen      bool   // Go's runtime writes nothing
	// cut: the rest of the stack is gone. The program has overwritten it; or, of a panic in a callback, the runtime has
	// left the C stack when it ran the deferred functions, and prints on it.
	cut  bool
	deep bool // the stack is longer than a report
}

const selfSent = "sent by the program itself"

var ways = []way{
	{how: "read", signal: "SIGSEGV", code: "SEGV_MAPERR", access: "read", description: "a read at 0x8: unmapped", function: "deref"},
	{how: "wild", signal: "SIGSEGV", code: "SEGV_MAPERR", access: "read", description: "a read at 0x123456789000: unmapped", function: "deref"},
	{how: "write", signal: "SIGSEGV", code: "SEGV_MAPERR", access: "write", description: "a write at 0x10: unmapped", function: "store"},
	{how: "readonly", signal: "SIGSEGV", code: "SEGV_ACCERR", access: "write", description: "dies, readable (", function: "store"},
	{how: "null", signal: "SIGSEGV", code: "SEGV_MAPERR", access: "execute", description: "a jump at 0x0: unmapped"},
	{how: "jump", signal: "SIGSEGV", code: "SEGV_MAPERR", access: "execute", description: "a jump at 0x7000: unmapped"},
	{how: "cstack", signal: "SIGSEGV", code: "*", access: "write", description: "which has overflown", function: "deep", deep: true},
	{how: "abort", signal: "SIGABRT", code: "SI_TKILL", description: selfSent, function: "*"},
	{how: "heap", signal: "SIGABRT", code: "SI_TKILL", description: selfSent, message: "free(): invalid next size (normal)", function: "*"},
	{how: "doublefree", signal: "SIGABRT", code: "SI_TKILL", description: selfSent, message: "free(): double free detected in tcache 2", function: "*"},
	{how: "assert", signal: "SIGABRT", code: "SI_TKILL", description: selfSent, message: "dies: dies.c:45: dies_c: Assertion `zero == 1' failed.", function: "*"},
	{how: "smash", signal: "SIGABRT", code: "SI_TKILL", description: selfSent, message: "*** stack smashing detected ***: terminated", function: "*", cut: true},
	{how: "fpe", signal: "SIGFPE", code: "FPE_INTDIV", description: "an integer was divided by zero", function: "dies_c"},
	{how: "ill", signal: "SIGILL", code: "ILL_ILLOPN", description: "illegal instruction", function: "dies_c"},
	{how: "bus", signal: "SIGBUS", code: "BUS_ADRERR", access: "read", description: "beyond the end of the file", function: "deref"},
	{how: "thread", signal: "SIGSEGV", code: "SEGV_MAPERR", access: "read", description: "a read at 0x10: unmapped", function: "deref", unseen: true},
	{how: "handler", signal: "SIGSEGV", code: "SEGV_MAPERR", access: "read", description: "a read at 0x18: unmapped", function: "deref"},
	{how: "callback", message: "panic: in a callback from C", description: "a panic", function: "main.calledBack", cut: true},
	{how: "cxx-runtime", signal: "SIGABRT", code: "SI_TKILL", description: selfSent, message: "uncaught exception: std::runtime_error: the disk is full", function: "*"},
	{how: "cxx-derived", signal: "SIGABRT", code: "SI_TKILL", description: selfSent, message: "uncaught exception: failure: no such table", function: "*"},
	{how: "cxx-logic", signal: "SIGABRT", code: "SI_TKILL", description: selfSent, message: "uncaught exception: std::out_of_range: index 9 of 3", function: "*"},
	{how: "cxx-int", signal: "SIGABRT", code: "SI_TKILL", description: selfSent, message: "uncaught exception: int: 42", function: "*"},
	{how: "cxx-text", signal: "SIGABRT", code: "SI_TKILL", description: selfSent, message: "uncaught exception: char const*: a plain text", function: "*"},
	// Nothing but the program can say what its own what() returns.
	{how: "cxx-own", signal: "SIGABRT", code: "SI_TKILL", description: selfSent, message: "uncaught exception: own", function: "*"},
	{how: "cxx-noexcept-derived", signal: "SIGABRT", code: "SI_TKILL", description: selfSent, message: "uncaught exception: failure: no such table", function: "*"},
	{how: "cxx-pure", signal: "SIGABRT", code: "SI_TKILL", description: selfSent, message: "pure virtual method called", function: "*"},
	{how: "panic", message: "panic: boom", description: "a panic", function: "main.init.func1"},
	{how: "error", message: "panic: wrapped: cause", description: "a panic", function: "main.init.func2"},
	{how: "custom", message: "panic: (main.custom) 0x", description: "a panic", function: "main.init.func3"},
	{how: "number", message: "panic: main.number(42)", description: "a panic", function: "main.init.func4"},
	{how: "nested", message: "panic: first", description: "a panic", function: "main.nested.func1"},
	{how: "again", message: "panic: again [recovered, repanicked]", description: "a panic", function: "main.init.func5.1"},
	{how: "nil", signal: "SIGSEGV", code: "SEGV_MAPERR", access: "read", description: "a read at 0x8: unmapped",
		message: "panic: runtime error: invalid memory address or nil pointer dereference", function: "main.init.func6"},
	{how: "index", message: "panic: runtime error: index out of range", description: "a panic", function: "main.init.func7"},
	{how: "mapfault", message: "fatal error: concurrent map writes", description: "an error", function: "main.mapFault.func1"},
	{how: "unlock", message: "fatal error: sync: unlock of unlocked mutex", description: "an error", function: "main.init.func10"},
	{how: "sigquit", signal: "SIGQUIT", code: "SI_TKILL", description: selfSent, function: "*"},
	{how: "another", message: "panic: of another goroutine", description: "a panic", function: "main.init.func16.1"},
	{how: "alone-deadlock", pure: true, message: "fatal error: all goroutines are asleep - deadlock!", description: "an error"},
}

// report is what clew writes of a crash.
type report struct {
	Crash  *stackjson.Crash  `json:"crash"`
	Stacks []stackjson.Stack `json:"stacks"`
	Text   string            `json:"text"`
}

// check compares what clew says with the source and with what the program has printed.
func (w *way) check(t *testing.T, r *report, stderr, signal string) {
	t.Helper()
	c := r.Crash
	if c == nil || len(r.Stacks) == 0 {
		t.Fatalf("no crash, or no stacks\n%s", stderr)
	}
	if c.Signal != signal || c.Code != w.code && w.code != "*" || c.Access != w.access || !strings.Contains(c.Description, w.description) {
		t.Errorf("%+v, want %+v", c, w)
	}
	first, _, _ := strings.Cut(c.Message, "\n")
	if !strings.HasPrefix(first, w.message) || w.message == "" && first != "" {
		t.Errorf("message %q, want %q", c.Message, w.message)
	}
	// The program has printed it, too: of an exception its type and its what() stand in different lines.
	said := strings.TrimPrefix(first, "uncaught exception: ")
	if _, what, found := strings.Cut(said, ": "); found && said != first && w.how != "cxx-int" && w.how != "cxx-text" {
		said = what
	}
	if w.how != "custom" && !strings.HasPrefix(w.how, "cxx-int") && !strings.HasPrefix(w.how, "cxx-text") && !strings.Contains(stderr, said) {
		t.Errorf("the program has not printed %q:\n%.600s", said, stderr)
	}
	s := &r.Stacks[0]
	if w.deep && s.Stop != stackjson.StopEnd && strings.Contains(s.Reason, "size of the report") {
		s.Stop = stackjson.StopEnd
	}
	if s.Thread != c.Thread || s.Goroutine != c.Goroutine || (s.Stop != stackjson.StopEnd) != w.cut {
		t.Errorf("the first stack is of thread %d and goroutine %d and ends with %s (%s); thread %d and goroutine %d died", s.Thread, s.Goroutine, s.Stop, s.Reason, c.Thread, c.Goroutine)
	}
	function := ""
	if c.Frame != nil && *c.Frame < len(s.Frames) {
		function = s.Frames[*c.Frame].Function
	}
	if function != w.function && w.function != "*" {
		t.Errorf("frame %v is in %q, want %q", c.Frame, function, w.function)
	}
}

// run runs a command to its end, and returns what it has written and how it ended.
func run(t testing.TB, dir string, env []string, command ...string) (stdout, stderr string, state *os.ProcessState) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(os.Environ(), env...), &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end := time.AfterFunc(testneed.Patience(limit), func() { _ = cmd.Process.Signal(syscall.SIGKILL) })
	err := cmd.Wait()
	if !end.Stop() {
		t.Fatalf("%v has not ended in time\n%.2000s", command, errs.String())
	}
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState
}

// dump runs the program until the kernel writes a core file of it.
func dump(t testing.TB, program, how string) (core, stderr string) {
	t.Helper()
	return testkit.Dump(t, append(os.Environ(), "GOTRACEBACK=crash"), program, how)
}

// ofCore is what clew says of a core file.
func ofCore(t testing.TB, core, program string) *report {
	t.Helper()
	out, errs, state := run(t, "", nil, testkit.Path("clew"), "stack", "--core", core, program, "--format", "json")
	if code := state.ExitCode(); code != 0 && code != 3 {
		t.Fatalf("clew stack --core: exit code %d\n%s", code, errs)
	}
	return parse(t, []byte(out))
}
