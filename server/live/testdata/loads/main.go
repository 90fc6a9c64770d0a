// A program that loads a library, calls it and unloads it, again and again, and
// calls pause in between:
//
//	loads LIBRARY
package main

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>

__attribute__((noinline)) void pause_here(void) { __asm__ volatile(""); }

static void *load(const char *path) { return dlopen(path, RTLD_NOW); }

static void call(void *library) {
	void (*through)(void (*)(void)) = dlsym(library, "through");
	through(pause_here);
}
*/
import "C"

import (
	"os"
	"unsafe"
)

func main() {
	path := C.CString(os.Args[1])
	defer C.free(unsafe.Pointer(path))
	for {
		C.pause_here()
		library := C.load(path)
		if library == nil {
			panic("cannot load " + os.Args[1])
		}
		C.call(library)
		C.pause_here()
		C.dlclose(library)
	}
}
