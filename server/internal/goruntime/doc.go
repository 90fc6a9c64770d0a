// Package goruntime reads what Go's runtime knows of a stopped program's stacks:
// goroutines, the stacks of its threads, and which threads the runtime made. It
// reads memory only, so it serves a program here and one behind a Delve server.
package goruntime
