// A program whose C code records its own return addresses before it stops:
//
//	native SCENARIO STOP STEM [ready]
//
// The record of each thread is written to STEM.TID, the mappings to STEM.maps.
package main

/*
#include "native.h"
#include <stdlib.h>

int pour(int n);
static inline void setup(const char *stem, int stop) { native_setup(stem, stop, pour); }
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"
)

var stops = []string{"int3", "break", "segv", "spin", "sleep", "syscall", "raise", "core", "tiny", "plt"}

// then is what Go does when C calls it back.
var then []func(int) int

func main() {
	fmt.Println("the program's own output")
	C.setup(C.CString(os.Args[3]), C.int(max(0, slices.Index(stops, os.Args[2]))))
	if len(os.Args) > 4 {
		C.native_ready()
	}
	println("checksum", scenario(os.Args[1])(3))
}

func scenario(name string) func(int) int {
	switch name {
	case "plain":
		return first
	case "callback": // stops in Go
		then = []func(int) int{inGo}
		return calling
	case "nested": // Go > C > Go > C > Go > C
		then = []func(int) int{calling2, first}
		return calling
	case "nested-waiting": // parked in Go, with C and Go and C below
		then = []func(int) int{calling2, waiting}
		return calling
	case "thread-waiting": // on a thread of C's
		then = []func(int) int{waiting}
		return func(n int) int { return int(C.thread_calling(C.int(n))) }
	case "catching":
		return catching
	case "cleaning":
		return cleaning
	case "deep":
		return deep
	case "thread":
		return func(n int) int { return int(C.thread_plain(C.int(n))) }
	case "thread-calling":
		then = []func(int) int{first}
		return func(n int) int { return int(C.thread_calling(C.int(n))) }
	case "thread-signal":
		return func(n int) int { return int(C.thread_signal(C.int(n))) }
	case "many":
		return many
	case "undumpable": // the kernel lets nobody but root trace it
		if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 0, 0); errno != 0 {
			panic(errno)
		}
		return many
	}
	panic("unknown scenario " + name)
}

//go:noinline
func first(n int) int { return second(n) + 1 }

//go:noinline
func second(n int) int { return int(C.outer(C.int(n))) + 1 }

//go:noinline
func calling(n int) int { return int(C.outer_calling(C.int(n))) + 1 }

//go:noinline
func calling2(n int) int { return int(C.outer_calling(C.int(n))) + 1 }

//go:noinline
func catching(n int) int { return int(C.outer_catching(C.int(n))) + 1 }

//go:noinline
func cleaning(n int) int { return int(C.outer_cleaning(C.int(n))) + 1 }

//go:noinline
func deep(n int) int { return int(C.outer_deep(5000)) + 1 }

//go:noinline
func inGo(n int) int {
	runtime.Breakpoint()
	return n + 1
}

//go:noinline
func waiting(n int) int {
	time.Sleep(time.Hour)
	return n + 1
}

//export pour
//go:noinline
func pour(n C.int) C.int {
	f := then[0]
	then = then[1:]
	return C.int(f(int(n))) + 1
}

// many parks goroutines in Go, in C, and a thread of C's.
func many(n int) int {
	never := make(chan int)
	go blocked(never)
	go first(n)
	go C.thread_plain(C.int(n))
	return <-never
}

//go:noinline
func blocked(never chan int) { fmt.Println(<-never) }
