// A program that stops itself below code that unwinders take for something else:
//
//	proof CASE FILE
//
// It writes to FILE where its C functions return to, innermost first.
package main

/*
#cgo LDFLAGS: -pthread
void proof(const char *what, const char *file);
*/
import "C"

import "os"

func main() { C.proof(C.CString(os.Args[1]), C.CString(os.Args[2])) }
