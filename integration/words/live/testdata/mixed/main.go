// A program that stops itself in C++ code, in a callback of C's, or while a goroutine is
// parked in one.
package main

/*
int run(int stop);
int first(void);
int second(void);
*/
import "C"

import (
	"os"
	"runtime"
	"time"
)

// What leaf does.
const (
	trap = iota
	breakpoint
	park
)

var parked = make(chan bool)

//export reached
func reached(stop C.int) { callback(int(stop)) } // line: reached

//go:noinline
func callback(stop int) {
	if stop == park {
		close(parked)
		select {} // line: callback
	}
	runtime.Breakpoint()
	called++ // the debugger stops behind the breakpoint
}

var called int

func main() {
	switch os.Args[1] {
	case "native":
		C.run(trap) // line: main
	case "first":
		C.first()
	case "second":
		C.second()
	case "callback":
		C.run(breakpoint) // line: main and back
	case "parked":
		go C.run(park)
		<-parked
		time.Sleep(100 * time.Millisecond)
		runtime.Breakpoint()
	}
}
