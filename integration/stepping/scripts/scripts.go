package scripts

import "strings"

// script is one walk through the program.
type script struct {
	does string // what is shown
	arg  string // of the program
	at   string // the line to stop at first
	// steps are next, step, out, and into:NAME or into:NAME:2, a step into the first or second of the
	// line's targets with that name; want is the line where the last of them ends.
	steps, want string
}

func (s *script) commands() []string { return strings.Fields(s.steps) }

// suite is scripts through one program.
type suite struct {
	program   string     // its folder below testdata
	libraries [][]string // the commands that build them, in the program's folder
	scripts   []script
	short     map[string]bool // of the test that runs by default, by what they do
	begin     string          // what stands before the table in a file
}

// suites are all that is shown.
var suites = map[string]*suite{
	"crossing": {program: "program", scripts: scripts, short: short, begin: "<!-- go run ./integration/stepping scripts -->\n"},
	"native":   {program: "native", scripts: native, short: shortNative, libraries: libraries, begin: "<!-- go run ./integration/stepping scripts -suite native -->\n"},
	"breaks":   {program: "breaks", libraries: breakLibraries, begin: "<!-- go run ./integration/stepping scripts -suite breaks -->\n"},
}

// scripts go through Go and C. One line each.
var scripts = []script{
	{"Go: over a line", "calls", "call-go", "next", "call-parent"},
	{"Go: into a Go function", "calls", "call-go", "step", "double"},
	{"Go: out of a Go function", "calls", "call-go", "step out", "call-go"},
	{"Go to C: into a function of a file", "calls", "call", "step", "add"},
	{"Go to C: into a static function with a pointer", "calls", "call-sum", "step", "sum"},
	{"Go to C: into a call with errno", "calls", "call-fails", "step", "fails"},
	{"Go to C: into an inlined function", "calls", "call-inlined", "step", "inlined"},
	{"Go to C: an argument's Go call first", "calls", "call-double", "step", "double"},
	{"Go to C: then the C function", "calls", "call-double", "step out step", "add"},
	{"Go to C: over the call", "calls", "call", "next", "call-outer"},
	{"Go to C: a call without C code of one's own", "calls", "call-string", "step", "call-go"},
	{"C: into a C function", "calls", "outer-call", "step", "inner"},
	{"C: out to the C caller", "calls", "inner", "out", "outer-call"},
	{"C: over a line", "calls", "outer", "next", "outer-call"},
	{"C: a library without lines", "calls", "parent", "step", "parent-return"},
	{"C to Go: out", "calls", "add", "out", "call"},
	{"C to Go: out of two", "calls", "inner", "out out", "call-outer"},
	{"C to Go: over the last lines", "calls", "sum-return", "next next", "call-sum"},
	{"C to Go: step over the last lines", "calls", "add-return", "step step", "call"},
	{"callback: into Go", "callbacks", "calling-call", "step", "callback"},
	{"callback: into Go by a pointer", "callbacks", "pointer-call", "step", "callback"},
	{"callback: over it", "callbacks", "calling-call", "next", "calling-return"},
	{"callback: out to C", "callbacks", "callback", "out", "calling-call"},
	{"callback: over its last line", "callbacks", "callback-return", "next", "calling-call"},
	{"callback: into C again", "callbacks", "callback-call", "step", "add"},
	{"callback: from Go over all of it", "callbacks", "call-calling", "next", "call-pointer"},
	{"callback: from Go down to Go", "callbacks", "call-calling", "step next step", "callback"},
	{"threads: into C among four goroutines", "crowd", "crowd", "step", "add"},
	{"threads: out of C among four goroutines", "crowd", "crowd", "step out next", "crowd-after"},
	{"threads: a callback in a thread of C's", "threads", "thread", "step", "callback"},
	{"threads: out of that callback", "threads", "thread", "step out", "thread"},
	{"panic: through C, recovered", "panics", "call-panics", "next", "recover"},
	{"signal: raised in C, handled by Go", "signals", "call-signalled", "next", "signals-end"},
	{"signal: over the line that raises it", "signals", "signalled", "next", "signalled-return"},
	{"C++: into a function", "exceptions", "call-plus", "step", "plus"},
	{"C++: into a method", "exceptions", "plus-call", "step", "area"},
	{"C++: out to Go", "exceptions", "plus-return", "out", "call-plus"},
	{"C++: an exception ends the step out", "exceptions", "thrower", "out", "catch"},
	{"C: longjmp ends the step out", "exceptions", "jumping", "out", "jumps"},
	{"target: the last call of a Go line", "targets", "call-many", "into:half", "half"},
	{"target: the second call of a function", "targets", "call-many", "into:double:2 out into:half", "half"},
	{"target: a call that is not made", "targets", "call-skipped", "into:half", "call-interface"},
	{"target: behind a call by an interface", "targets", "call-interface", "into:double", "double"},
	{"target: C behind Go, on a Go line", "targets", "call-mixed", "into:add", "add"},
	{"target: another C function", "targets", "call-mixed", "into:outer", "outer"},
	{"target: the last call of a C line", "targets", "nested", "into:add", "add"},
	{"target: the second call of a C line", "targets", "nested", "into:outer", "outer"},
	{"target: Go, on a C line", "targets", "nested-callback", "into:goCallback", "callback"},
	{"target: in a recursion, of this activation", "targets", "rec-call", "into:rec:2 out out", "call-rec"},
}

// short are one of each kind.
var short = map[string]bool{
	"Go to C: into a static function with a pointer": true, "Go to C: into an inlined function": true, "C to Go: out": true,
	"C to Go: over the last lines": true, "callback: into Go by a pointer": true, "callback: over its last line": true, "threads: out of that callback": true,
	"C++: into a function": true, "target: another C function": true, "target: Go, on a C line": true, "target: in a recursion, of this activation": true,
	"target: a call that is not made": true,
}
