// The program that the examples look at: Go calls C, C calls Go, and that
// calls C again, which waits if the program is told to.
package main

/*
#cgo CFLAGS: -O1 -g -fno-omit-frame-pointer
#include "native.h"
*/
import "C"

import "os"

func main() {
	brew(3)
}

//go:noinline
func brew(cups int) int {
	return int(C.grind(C.int(cups))) + 1
}

//export pour
func pour(cups C.int) C.int {
	return refill(cups)
}

//go:noinline
func refill(cups C.int) C.int {
	seconds := C.int(0)
	if len(os.Args) > 1 && os.Args[1] == "wait" {
		seconds = 600
	}
	return C.froth(cups, seconds) + 1
}
