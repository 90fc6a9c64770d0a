package scripts

// breakScript is one breakpoint in testdata/breaks, and where the program stops at it.
type breakScript struct {
	does string // what is shown
	line string // the name of the line to break at, or
	name string // the function
	// hits is a hit condition, shows a variable that is to be read at the first stop.
	hits, shows string
	// want are the names of the lines where the program stops, one after another; and what the variable is.
	want string
}

// breakScripts are all that is shown. One line each.
var breakScripts = []breakScript{
	{does: "line: C in a Go file", line: "preamble", want: "preamble"},
	{does: "line: Go in the same file", line: "go", want: "go"},
	{does: "line: C++ in a library", line: "total", want: "total"},
	{does: "line: in a lambda", line: "lambda", want: "lambda"},
	{does: "line: a template, all instances", line: "biggest", want: "biggest biggest"},
	{does: "line: a constructor", line: "constructor", want: "constructor constructor constructor"},
	{does: "line: a destructor", line: "destructor", want: "destructor destructor destructor"},
	{does: "line: an operator", line: "plus", want: "plus"},
	{does: "line: in an unnamed namespace", line: "secret", want: "secret"},
	{does: "line: without code, the next that has some", line: "nothing", want: "loops-return"},
	{does: "line: a loop's body", line: "loop", want: "loop loop loop loop loop"},
	{does: "line: the fifth hit", line: "loop", hits: "5", want: "loop"},
	{does: "line: a recursion", line: "down", want: "down down down"},
	{does: "line: on a thread of C's", line: "thread", want: "thread"},
	{does: "line: throw, at -O2", line: "throw", want: "throw"},
	{does: "line: a handler, at -O2", line: "catch", want: "catch"},
	{does: "line: inlined copies, at -O2", line: "inlined", want: "inlined inlined"},
	{does: "line: a library opened twice", line: "plugged", want: "plugged plugged"},
	{does: "line: run as a library is loaded", line: "loaded", want: "loaded loaded"},
	{does: "function: C in a Go file", name: "preamble", want: "preamble"},
	{does: "function: of one line, its argument stored", name: "twice", shows: "n", want: "twice n=5"},
	{does: "function: static", name: "hidden", want: "hidden"},
	{does: "function: qualified", name: "shop::Order::total", want: "total"},
	{does: "function: partly qualified", name: "Order::total", want: "total"},
	{does: "function: a method's own name", name: "total", want: "total"},
	{does: "function: overloads, all", name: "area", want: "area-int area-double"},
	{does: "function: one overload", name: "area(double)", want: "area-double"},
	{does: "function: a template, all instances", name: "biggest", want: "biggest biggest"},
	{does: "function: an operator", name: "shop::Order::operator+", want: "plus"},
	{does: "function: in an unnamed namespace", name: "secret", want: "secret"},
	{does: "function: inlined copies, at -O2", name: "inlined", want: "inlined inlined"},
	{does: "function: without debugging information", name: "bare", want: "bare bare"},
	{does: "function: of a library opened twice", name: "plugged", want: "plugged plugged"},
}
