// Barista is a Go program with C code for tests of the extension: Go calls C, C
// calls Go back, Go calls C again; and a thread that C has made.
package main

/*
#cgo CFLAGS: -O0 -g -fno-omit-frame-pointer
#cgo LDFLAGS: -lpthread
#include "native.h"
*/
import "C"

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "thread" {
		fmt.Println("thread:", C.order(C.int(3)))
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "spill" {
		C.spill(3)
	}
	if len(os.Args) > 1 && os.Args[1] == "crowd" {
		crowd(10_000)
	}
	if len(os.Args) > 1 && os.Args[1] == "deep" {
		fmt.Println("deep:", dive(10_000))
		return
	}
	fmt.Println("brewed:", brew(3))
}

// brew has C grind.
//
//go:noinline
func brew(cups int) int {
	return int(C.grind(C.int(cups))) + 1
}

// pour is called by C, in the middle of grind.
//
//export pour
func pour(cups C.int) C.int {
	return refill(cups)
}

//go:noinline
func refill(cups C.int) C.int {
	return C.froth(cups) + 1
}

// crowd starts goroutines that wait.
func crowd(n int) {
	ready := make(chan int, n)
	for i := range n {
		go func() {
			ready <- i
			select {}
		}()
	}
	for range n {
		<-ready
	}
}

//go:noinline
func dive(n int) int {
	if n == 0 {
		return brew(1)
	}
	return dive(n-1) + 1
}
