// A program to step through: Go, C and C++ that call each other. Its only argument names
// what it does. A comment with an at sign names a line.
package main

/*
#cgo CFLAGS: -g -O0
#cgo CXXFLAGS: -g -O0
#cgo LDFLAGS: -pthread
#include "native.h"
#include <stdlib.h>

static int sum(int *list, int n) {
	int s = 0;                  // @sum
	for (int i = 0; i < n; i++)
		s += list[i];
	return s;                   // @sum-return
}

static inline __attribute__((always_inline)) int inlined(int n) {
	int m = n * 7;              // @inlined
	return m + 1;
}
*/
import "C"

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

var boom bool

//export goCallback
func goCallback(n C.int) C.int { // @callback
	if boom {
		panic("boom")
	}
	m := C.add(n, 1) // @callback-call
	return m * 10    // @callback-return
}

func double(n int) int { // @double
	return n * 2
}

func calls() {
	a := C.add(1, 2)                                   // @call
	b := C.outer(3)                                    // @call-outer
	list := []C.int{1, 2, 3}                           // @list
	c := C.sum(&list[0], 3)                            // @call-sum
	d, err := C.fails(1)                               // @call-fails
	e := C.inlined(4)                                  // @call-inlined
	f := C.add(C.int(double(5)), 6)                    // @call-double
	s := C.CString("text")                             // @call-string
	g := double(7)                                     // @call-go
	h := C.parent(0)                                   // @call-parent
	fmt.Println(a, b, c, d, err, e, f, s != nil, g, h) // @calls-end
}

func callbacks() {
	a := C.calling(5)    // @call-calling
	b := C.by_pointer(6) // @call-pointer
	fmt.Println(a, b)    // @callbacks-end
}

func crowd() {
	var wait sync.WaitGroup
	for range 4 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i := range 2000 {
				C.add(C.int(i), 2)
			}
		}()
	}
	for range 3 {
		a := C.add(9, 9) // @crowd
		double(int(a))   // @crowd-after
	}
	wait.Wait()
}

func threads() {
	a := C.thread_calls(1) // @call-thread
	fmt.Println(a)         // @threads-end
}

func panics() {
	defer func() { // @recover
		r := recover()
		fmt.Println(r)
	}()
	boom = true
	C.calling(1) // @call-panics
}

func signals() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	a := C.signalled(1) // @call-signalled
	<-c                 // @signals-end
	fmt.Println(a)
}

func exceptions() {
	a := C.plus_plus(3)  // @call-plus
	b := C.throws(4)     // @call-throws
	c := C.jumps(5)      // @call-jumps
	fmt.Println(a, b, c) // @exceptions-end
}

func half(n int) int { // @half
	return n / 2
}

func rec(n int) int {
	if n < 2 { // @rec
		return n
	}
	return rec(n-1) + rec(n-2) // @rec-call
}

type shape interface{ area() int }

type square struct{ side int }

func (s *square) area() int { // @go-area
	return s.side * s.side
}

func targets() {
	var s shape = &square{2}
	a := double(1) + half(double(8))         // @call-many
	b := C.add(C.int(double(5)), C.outer(6)) // @call-mixed
	ok := a > 100 && half(3) > 0             // @call-skipped
	c := double(half(s.area()))              // @call-interface
	d := C.nested(7)                         // @call-nested
	e := rec(6)                              // @call-rec
	fmt.Println(a, b, ok, c, d, e)           // @targets-end
}

func main() {
	map[string]func(){
		"calls": calls, "callbacks": callbacks, "crowd": crowd, "threads": threads, "panics": panics, "signals": signals, "exceptions": exceptions,
		"targets": targets,
	}[os.Args[1]]()
	fmt.Println("done") // @done
}
