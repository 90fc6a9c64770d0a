// A program that goes from one stack to another in every way that Go's runtime
// has:
//
//	switching SCENARIO
//
// Its C functions enter themselves, with their return address and CFA, into a
// list that a debugger reads (native.c: trail). Everything happens between calls
// of armed and disarmed, on the main goroutine unless the scenario says otherwise.
package main

/*
#include "native.h"
*/
import "C"

import (
	"bytes"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
	_ "unsafe"
)

// systemstack is the runtime's: it calls f on the thread's system stack.
//
//go:linkname systemstack runtime.systemstack
//go:noescape
func systemstack(f func())

// depth is how many calls of grow have got past their prologue.
var depth int

var (
	sink  byte
	quiet = make(chan os.Signal, 16)
	wake  = make(chan int)
	over  = make(chan int)
	stop  bool
)

func main() {
	name := os.Args[1]
	run := map[string]func(){
		"grow": growing, "grow-callback": growCallback, "grown": grown,
		"park": parks, "end": ends, "thread": thread, "system": onSystem, "system-callback": systemCallback,
		"system-system": systemSystem, "nested": nested, "cthread": cthread, "cthread-nested": cthreadNested,
		"signal": inC, "signal-callback": signalCallback, "signal-system": signalSystem, "spin": spins, "clock": clock,
	}[name]
	signal.Notify(quiet, syscall.SIGUSR1)
	run()
	println("done", name, depth, sink)
}

//go:noinline
func armed() {}

//go:noinline
func disarmed() {}

// The goroutine's stack grows in Go, in Go that C has called, or has grown there.

//go:noinline
func growing() {
	armed()
	grow(400)
	disarmed()
}

//go:noinline
func grow(n int) {
	var frame [256]byte
	depth++
	if n > 0 {
		grow(n - 1)
	}
	frame[n%len(frame)] = byte(n)
	sink += frame[(n+1)%len(frame)]
}

// then is what Go does when C calls it, and with which depth of calls.
var then []func()

//export rung
//go:noinline
func rung(n C.int) {
	if n > 0 {
		climb(n - 1)
		return
	}
	f := then[0]
	then = then[1:]
	f()
}

// climb goes up n rungs of C and Go.
//
//go:noinline
func climb(n C.int) { C.level(n) }

func growCallback() { then = []func(){growing}; climb(0) }

func grown() {
	then = []func(){grownThenC}
	climb(0)
}

//go:noinline
func grownThenC() {
	grow(400)
	C.stop()
}

func nested() { then = []func(){stopInC}; climb(6) }

//go:noinline
func stopInC() { C.stop() }

// Parked, ended, started.

//go:noinline
func parks() {
	go wakes()
	armed()
	<-wake
	disarmed()
}

// wakes waits until the main goroutine is parked.
func wakes() {
	for text := make([]byte, 1<<16); !bytes.Contains(text[:runtime.Stack(text, true)], []byte("goroutine 1 [chan receive")); {
		C.nap()
	}
	wake <- 1
}

//go:noinline
func ends() {
	armed()
	go ending()
	<-over
	for { // the debugger ends it
		C.nap()
	}
}

//go:noinline
func ending() { over <- 1 }

//go:noinline
func thread() {
	armed()
	for range 8 { // more than the threads that are idle
		go locked()
		<-over
	}
	disarmed()
}

func locked() {
	runtime.LockOSThread()
	over <- 1
	select {}
}

// On the system stack.

//go:noinline
func onSystem() { systemstack(stopOnSystem) }

func stopOnSystem() { runtime.Breakpoint(); sink++ }

func systemCallback() { then = []func(){onSystem}; climb(2) }

// A call of systemstack on the system stack is a mere jump.
func systemSystem() { systemstack(systemAgain) }

//go:noinline
func systemAgain() { onSystem(); sink++ }

// Threads of C's that call Go.

func cthread()       { then = []func(){breakInGo}; C.in_thread(0) }
func cthreadNested() { then = []func(){stopInC}; C.in_thread(3) }

//go:noinline
func breakInGo() { runtime.Breakpoint(); sink++ }

// Signals, sent when armed.

//go:noinline
func inC() {
	armed()
	C.raise_signal()
	disarmed()
}

func signalCallback() { then = []func(){inC}; climb(2) }

//go:noinline
func signalSystem() {
	armed()
	systemstack(raises)
	disarmed()
}

//go:noinline
func raises() {
	tid, _, _ := syscall.RawSyscall(syscall.SYS_GETTID, 0, 0, 0)
	syscall.RawSyscall(syscall.SYS_TKILL, tid, uintptr(syscall.SIGUSR1), 0)
	sink++
}

// The clock is read in the vDSO, on the system stack.

//go:noinline
func clock() {
	armed()
	if time.Now().Unix() < 0 {
		sink++
	}
	disarmed()
}

// spins until it is preempted at an instruction that calls nothing.
//
//go:noinline
func spins() {
	go collect()
	armed()
	for !stop {
		sink++
	}
	disarmed()
}

// collect asks for preemptions for longer than any test looks for one: most
// interrupt the spinning goroutine, on a busy machine few do.
func collect() {
	for range 1_000_000 {
		runtime.GC()
	}
	stop = true
}
