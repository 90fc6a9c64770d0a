// Command mcjit compiles LLVM's intermediate code at run time, calls it, and is called back. It
// writes down the return addresses that code and callback have recorded.
package main

// #cgo LDFLAGS: -l:libLLVM-14.so.1
// #include <stdlib.h>
// #include "host.h"
import "C"

import (
	"fmt"
	"os"
	"runtime"
)

//export called
func called(r *C.struct_record) {
	for _, ra := range r.ra[:r.count] {
		fmt.Printf("%#x\n", uintptr(ra))
	}
	stop()
}

//go:noinline
func stop() { runtime.Breakpoint() }

func main() {
	outer := C.compile(C.CString(os.Args[1]))
	if outer == nil {
		os.Exit(1)
	}
	r := (*C.struct_record)(C.calloc(1, C.sizeof_struct_record))
	C.run(outer, r)
	C.forget()
	stop()
}
