// A program to be debugged while its debugger suffers:
//
//	patient deep N        N frames of C, then a breakpoint instruction
//	patient wait N PULSE  N frames of C, then a loop that calls landmark, for ever
//	patient climb N PULSE the same in Go alone: N frames, then a loop that calls main.summit
//	patient crowd N PULSE N goroutines, parked; main waits for ever
//	patient both N PULSE  N goroutines and N frames of C, then a breakpoint instruction
//
// The file PULSE has two counters that grow while the program runs: one of C,
// one of Go.
package main

/*
#cgo CFLAGS: -O1 -g -fno-omit-frame-pointer
#include "patient.h"
#include <stdlib.h>
*/
import "C"

import (
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

func main() {
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	switch os.Args[1] {
	case "deep":
		C.descend(C.int(n), nil)
	case "wait":
		C.descend(C.int(n), beat(os.Args[3]))
	case "climb":
		beat(os.Args[3])
		climb(n)
	case "crowd":
		pulse := beat(os.Args[3])
		crowd(n)
		C.descend(2, pulse)
	case "both":
		beat(os.Args[3])
		crowd(n)
		C.descend(C.int(n), nil)
	default:
		panic("unknown scenario " + os.Args[1])
	}
}

//go:noinline
func climb(n int) int {
	if n > 1 {
		return climb(n-1) + 1
	}
	for {
		summit()
		time.Sleep(time.Millisecond)
	}
}

//go:noinline
func summit() { atomic.AddInt64(&summits, 1) }

var summits int64

// beat makes Go's counter grow, and returns C's.
func beat(path string) *C.long {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = f.Truncate(16)
	}
	if err != nil {
		panic(err)
	}
	data, err := syscall.Mmap(int(f.Fd()), 0, 16, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	go func() {
		for {
			atomic.AddInt64((*int64)(unsafe.Pointer(&data[8])), 1)
			time.Sleep(time.Millisecond)
		}
	}()
	return (*C.long)(unsafe.Pointer(&data[0]))
}

// crowd parks n goroutines, each a few calls deep.
func crowd(n int) {
	never := make(chan int)
	parked := make(chan bool)
	for i := range n {
		go park(i%8, never, parked)
	}
	for range n {
		<-parked
	}
	time.Sleep(10 * time.Millisecond) // the last have yet to block
}

//go:noinline
func park(deeper int, never chan int, parked chan bool) int {
	if deeper > 0 {
		return park(deeper-1, never, parked) + 1
	}
	parked <- true
	return <-never
}
