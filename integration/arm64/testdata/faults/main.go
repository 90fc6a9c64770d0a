// A program whose native code breaks a rule that arm64 enforces:
//
//	faults KIND
//
// KIND is bti (a call of what is no landing pad), generated (the same in generated code), mte (a write through a pointer
// with a wrong tag) or pac (a return to an address whose signature was changed). With abort and context it breaks none: another thread
// aborts while C uses the register in which Go has its g, or C writes to nowhere on a context's stack.
package main

/*
#cgo LDFLAGS: -pthread
#include "faults.h"
*/
import "C"

import (
	"fmt"
	"os"
)

func main() { fmt.Println("went on with", run(os.Args[1][0])) }

//go:noinline
func run(kind byte) int { return int(C.fault(C.int(kind), 40)) + 1 }
