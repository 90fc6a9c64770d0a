// Command registers stops below C in a Go function whose argument is in a register, and
// prints what that was.
package main

/*
extern void toGo(long);
static void throughC(long n) { toGo(n); }
*/
import "C"

import "fmt"

//export toGo
func toGo(n C.long) { show(int(n)) }

//go:noinline
func show(n int) {
	fmt.Println("n is", n) // stop here
}

func main() { C.throughC(5) }
