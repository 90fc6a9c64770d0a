// Package scripts shows where steps through Go, C and C++ land, in dlv, lldb-dap and
// clew:
//
//	go run ./integration/stepping scripts [-suite NAME] [-only NAME] [-run REGEXP] [-o FILE]
//	stepping scripts -built FOLDER [-suite NAME] [-run REGEXP]
//
// There are two suites, each with a program: crossing goes through Go and C (testdata/program), native through C and C++
// (testdata/native). Each script stops the program at a named line, steps, and compares the line
// where it stands with the one that a reader of the source expects. All debuggers are asked by the Debug
// Adapter Protocol. Debian's lldb-dap is left out, and said to be, where it is not installed.
//
// The second form takes the program and clew from a folder, where integration/arm64 has built them for its machine, and runs the scripts
// with clew alone.
//
// The exit status is 1 when clew lands elsewhere than expected.
package scripts
