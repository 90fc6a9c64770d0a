// A program that recurses as deep as it is told, in C or in Go, and stops there:
//
//	deep {c|go} DEPTH
package main

/*
#cgo CFLAGS: -O2 -g0 -fomit-frame-pointer
static __attribute__((noinline, noclone)) long down(long n) {
	if (n == 0) {
		__asm__ volatile("int3");
		return 0;
	}
	long r = down(n - 1);
	__asm__ volatile("" : "+r"(r)); // no tail call, no loop
	return r + 1;
}
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
)

// The main thread's stack is as large as the limit lets it be.
func init() { runtime.LockOSThread() }

func main() {
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	if os.Args[1] == "go" {
		fmt.Println(down(n))
		return
	}
	fmt.Println(C.down(C.long(n)))
}

//go:noinline
func down(n int) int {
	if n == 0 {
		runtime.Breakpoint()
		return 0
	}
	return down(n-1) + 1
}
