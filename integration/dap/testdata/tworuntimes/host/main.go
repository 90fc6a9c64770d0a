// Program host calls a library with a Go runtime of its own, which calls back:
// two runtimes have frames on one thread's stacks.
package main

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>

extern int atTheEnd(int);

static __attribute__((noinline)) int back(int n) { int r = atTheEnd(n + 1); return r + 1; }

static __attribute__((noinline)) int enter(const char *path) {
	void *library = dlopen(path, RTLD_NOW);
	if (!library) abort();
	int (*f)(int (*)(int), int) = (int (*)(int (*)(int), int))dlsym(library, "Enter");
	int r = f(back, 1);
	return r + 1;
}
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
)

//export atTheEnd
func atTheEnd(n C.int) C.int {
	stop()
	return n + 1
}

//go:noinline
func stop() { runtime.Breakpoint() }

func main() {
	fmt.Println("result", C.enter(C.CString(os.Args[1])))
}
