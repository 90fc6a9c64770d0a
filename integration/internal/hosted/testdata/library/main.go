// A library of Go's for programs of C's.
package main

import "C"

import "time"

func main() {}

//export Work
func Work(n C.int) C.int { return C.int(wait(int(n))) }

//go:noinline
func wait(n int) int {
	time.Sleep(time.Hour)
	return n
}
