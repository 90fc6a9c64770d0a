// Command tailcall calls C functions that jump to each other, and stops in the last:
//
//	tailcall WAY FILE
//
// WAY is direct, one, two, inlined or unclear; what the functions know of their callers
// is written to FILE.
package main

// #cgo CFLAGS: -O2 -g
// #include "tail.h"
import "C"

import "os"

func main() {
	os.Exit(int(C.run(C.CString(os.Args[1]), C.CString(os.Args[2]), C.int(len(os.Args)))))
}
