// A program one of whose threads has its stack and a function above the addresses of 48 bits, and stops there:
//
//	high RECORD
//
// RECORD is the file for the return addresses of its functions.
package main

/*
#cgo LDFLAGS: -pthread
#include <stdlib.h>
#include "high.h"
*/
import "C"

import "os"

func main() { C.high(C.CString(os.Args[1])) }
