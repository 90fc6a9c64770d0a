package program

import "slices"

// ToMain are the Go functions below main's own.
var ToMain = GoNames{"main.main", "runtime.main", "runtime.goexit"}

// Calls lists the Go functions around one call of C.
func Calls(names ...string) GoNames { return names }

// AndMain lists those that main.main called, and what called it.
func AndMain(names ...string) GoNames { return append(slices.Clone(names), ToMain...) }

// Scenario is one way of the program to its stop.
type Scenario struct {
	Name, Stop string // the program's arguments
	Groups     []GoNames
}

// Scenarios are those of the integration tests.
var Scenarios = []Scenario{
	{"plain", "int3", []GoNames{AndMain("main._Cfunc_outer", "main.second", "main.first")}},
	{"callback", "int3", []GoNames{
		Calls("main.inGo", "main.pour"),
		AndMain("main._Cfunc_outer_calling", "main.calling")}},
	{"nested", "int3", []GoNames{
		Calls("main._Cfunc_outer", "main.second", "main.first", "main.pour"),
		Calls("main._Cfunc_outer_calling", "main.calling2", "main.pour"),
		AndMain("main._Cfunc_outer_calling", "main.calling")}},
	{"deep", "int3", []GoNames{AndMain("main._Cfunc_outer_deep", "main.deep")}},
	{"thread", "int3", nil},
	{"thread-calling", "int3", []GoNames{Calls("main._Cfunc_outer", "main.second", "main.first", "main.pour")}},
	{"plain", "raise", []GoNames{AndMain("main._Cfunc_outer", "main.second", "main.first")}},
	{"thread-signal", "raise", nil},
}
