// Command program opens a library with a workload and runs it. The workload calls back
// into Go, and Go calls C from there.
package main

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef int (*back)(int);
extern int goBack(int);

static void *workload(const char *path) {
	void *library = dlopen(path, RTLD_LAZY);
	void *run = library ? dlsym(library, "run") : 0;
	if (!run)
		fprintf(stderr, "%s\n", dlerror());
	return run;
}
static int go_on(void *run) { return ((int (*)(back))run)((back)goBack); }
static int length(int n) { char text[16]; return snprintf(text, sizeof text, "%d", n); }
*/
import "C"

import (
	"os"
	"runtime"
	"unsafe"
)

func init() { runtime.LockOSThread() }

func main() {
	f := C.workload(C.CString(os.Args[1]))
	if f == nil {
		os.Exit(2)
	}
	grow(make([]byte, 1))
	if run(f) != 0 {
		os.Exit(3)
	}
}

// grow has the goroutine's stack grow once and for all.
//
//go:noinline
func grow(to []byte) {
	var room [32 << 10]byte
	room[len(to)] = to[0]
	copy(to, room[:])
}

//go:noinline
func run(f unsafe.Pointer) int { return int(C.go_on(f)) }

//export goBack
func goBack(n C.int) C.int { return n + C.length(n) }
