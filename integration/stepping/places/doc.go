// Package places shows where stepping leads, in dlv and in clew, side by side:
//
//	go run ./integration/stepping places [-build NAME,...] [-only dlv|clew] [-o FILE] [-v]
//	go run ./integration/stepping places [-build NAME,...] -arm64 DIR
//	go run ./integration/stepping places [-build NAME,...] [-only clew] [-v] -built DIR
//
// A Go program with C code (testdata/steps) is stopped in many places: at the
// first instruction of a C function, in leaf, middle and outer ones, in a
// recursion, in a function that other threads call too, in threads of C's, in the
// runtime's switch of stacks, in Go. From each, one stepOut, or next until the
// function is left. Truth is the program's record at the function's entry:
// the step is right if it ends at the recorded return address with the recorded
// CFA as its stack pointer. Then the program runs to its end, and its output and
// exit code must be those of a run without a debugger: they show the
// harm that a breakpoint in the wrong place has done.
//
// -arm64 builds the programs for linux/arm64 on another machine, -built tries there what it
// has built: see integration/arm64.
//
// dlv is Delve's own command at the version that clew is built with, in a
// process of its own. The exit status is 0 when each of clew's steps was right, 1 when one was
// not, a refused one too, or when something failed, 2 for wrong usage.
package places
