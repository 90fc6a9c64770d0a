// Command stepscripts shows where steps through Go, C and C++ land, in dlv, lldb-dap and
// clew:
//
//	go run ./integration/stepscripts [-only NAME] [-run REGEXP] [-o FILE]
//
// Each script stops a program (testdata/program) at a named line, steps, and compares the line
// where it stands with the one that a reader of the source expects. All debuggers are asked by the Debug
// Adapter Protocol. Debian's lldb-dap is left out, and said to be, where it is not installed.
//
// The exit status is 1 when clew lands elsewhere than expected.
package main
