// A program that counts with exclusive instructions:
//
//	exclusive c|lines|go
//
// Code of a C compiler counts, or C's assembly, or Go's, while another thread counts at the same
// place. The exit status is 0 if no count was lost.
package main

/*
#include "count.h"
*/
import "C"

import (
	"fmt"
	"os"
	"sync/atomic"

	"program/counter"
)

const calls = 4

var counted int32

func main() {
	var others atomic.Int32
	begin, stop, stopped := make(chan bool), make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		close(begin)
		for {
			select {
			case <-stop:
				return
			default:
				atomic.AddInt32(&counted, 1)
				others.Add(1)
			}
		}
	}()
	<-begin
	for range calls {
		switch os.Args[1] {
		case "c":
			C.count_in_c((*C.int)(&counted))
		case "lines":
			C.count_lines((*C.int)(&counted))
		case "go":
			counter.Add(&counted)
		}
	}
	close(stop)
	<-stopped
	if want := calls + others.Load(); counted != want {
		fmt.Printf("counted %d instead of %d\n", counted, want)
		os.Exit(3)
	}
}
