// Command stops is a program for the tests of server/delve: it stops itself, calls
// functions that call others, and ends or runs on.
package main

import (
	"os"
	"runtime"
	"time"
)

//go:noinline
func inner(n int) int {
	return n + 1
}

//go:noinline
func outer(n int) int {
	n = inner(n)
	return n * 2
}

//go:noinline
func point(p *int) int {
	return *p
}

func main() {
	runtime.LockOSThread() // a step of a thread stays on it
	runtime.Breakpoint()
	n := outer(20)
	n = outer(n)
	n = point(&n)
	if len(os.Args) > 1 {
		time.Sleep(time.Minute)
	}
	os.Exit(n)
}
