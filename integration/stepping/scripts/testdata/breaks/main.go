// A program to set breakpoints in: Go, with C here and C and C++ in libraries, of which one is opened, closed and opened again. A comment with an at
// sign names a line.
package main

/*
#cgo CFLAGS: -g -O0
#cgo LDFLAGS: -L${SRCDIR}/lib -lplain -lfast -lbare -Wl,-rpath,${SRCDIR}/lib -ldl
#include <stdlib.h>
#include <dlfcn.h>
#include "lib/all.h"

static int preamble(int n) {
	int m = n + 1;                  // @preamble
	return m * 2;                   // @preamble-return
}

static int plug(const char *name, int n) {
	void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return -1;
	int (*f)(int) = (int (*)(int))dlsym(lib, "plugged");
	int out = f(n);
	dlclose(lib);
	return out;
}
*/
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	sum := C.preamble(1)  // @go
	sum += C.everything() // @go-everything
	sum += C.quick(3)
	for range 2 {
		sum += C.bare(2)
	}
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	name := C.CString(filepath.Join(filepath.Dir(exe), "lib", "libplug.so"))
	for n := range 2 {
		sum += C.plug(name, C.int(n))
	}
	fmt.Println(sum) // @go-end
}
