// The demo's program: Go calls C, C calls back into Go, Go calls C again, and
// there, deep in C, the program stops itself.
package main

/*
#cgo CFLAGS: -O1 -g -fno-omit-frame-pointer
#include "native.h"
*/
import "C"

import "fmt"

func main() {
	fmt.Println("checksum:", brew(3))
}

//go:noinline
func brew(cups int) int {
	return int(C.grind(C.int(cups))) + 1
}

// pour is called by C, in the middle of C.grind.
//
//export pour
func pour(cups C.int) C.int {
	return refill(cups)
}

//go:noinline
func refill(cups C.int) C.int {
	return C.froth(cups) + 1
}
