// A program to step in: Go that calls C, whose functions record where they
// return to. What it prints depends on every step of the computation, and on
// its goroutine's stack being whole, because it grows it at the end.
//
//	steps SCENARIO RECORD
package main

/*
#include "steps.h"
#include <stdlib.h>

int pour(int n);
static inline void setup(const char *record) { steps_setup(record, pour); }
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
)

func main() {
	runtime.LockOSThread()
	C.setup(C.CString(os.Args[2]))
	ready()
	sum := first(os.Args[1], 3)
	fmt.Println("checksum", sum+grow(2000, sum))
	os.Exit(sum % 100)
}

// ready is where debuggers place their breakpoints: everything is loaded.
//
//go:noinline
func ready() {}

//go:noinline
func first(scenario string, n int) int { return second(scenario, n+1) + 1 }

//go:noinline
func second(scenario string, n int) int {
	switch scenario {
	case "plain":
		return int(C.outer(C.int(n)))
	case "calling":
		return int(C.outer_calling(C.int(n)))
	case "again":
		return int(C.outer_again(C.int(n)))
	case "crowd":
		return int(C.outer_crowd(C.int(n)))
	case "jump":
		return int(C.outer_jump(C.int(n)))
	case "waiting":
		return int(C.outer_waiting(C.int(n)))
	case "signal":
		return int(C.outer_signal(C.int(n)))
	case "thread":
		return int(C.thread_run(C.int(n)))
	case "exec":
		return again(n)
	}
	panic("unknown scenario " + scenario)
}

// grow needs a stack of megabytes: the goroutine's is copied several times.
//
//go:noinline
func grow(depth, n int) int {
	var local [256]int
	for i := range local {
		local[i] = n + i
	}
	if depth > 0 {
		n = grow(depth-1, n+1)
	}
	return (n + local[depth%len(local)]) % 100_003
}

//export pour
//go:noinline
func pour(n C.int) C.int { return C.int(grow(500, int(n))) }

// again becomes another program.
//
//go:noinline
func again(n int) int {
	err := syscall.Exec("/proc/self/exe", []string{os.Args[0], "plain", os.Args[2]}, os.Environ())
	fmt.Println(err)
	return n
}
