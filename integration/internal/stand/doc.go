//go:build linux && (amd64 || arm64)

// Package stand holds a program at one instruction and lets go of it there: it
// traces the program to the place, stops all of its threads, and detaches. What
// stays is an untouched process in stopped state (no breakpoint in its memory, no
// debugger), to which one debugger after another can attach. So each of them is
// shown the same stop, also one that it could not have reached by itself.
package stand
