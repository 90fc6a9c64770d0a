// A program whose stack goes through Go, C, C++ in a library, the C library, and back,
// with functions inlined in all three languages. It stops in C.
package main

/*
int enter(int n);
void stop(int n);
*/
import "C"

import "os"

func main() { println(outer(len(os.Args))) }

//go:noinline
func outer(n int) int { return middle(n) + 1 }

func middle(n int) int { return int(C.enter(C.int(n))) * 2 }

//export again
func again(n C.int) C.int { return C.int(inner(int(n))) + 1 }

//go:noinline
func inner(n int) int {
	C.stop(C.int(n))
	return n
}
