// A library of Go's that calls back whoever has called it.
package main

/*
typedef int (*back)(int);
static __attribute__((noinline)) int call(back f, int n) { int r = f(n); return r + 1; }
*/
import "C"

//export Enter
func Enter(f C.back, n C.int) C.int { return C.int(pass(f, int(n))) }

//go:noinline
func pass(f C.back, n int) int { return int(C.call(f, C.int(n+1))) + 1 }

func main() {}
