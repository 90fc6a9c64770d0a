// A program that stops itself below code that unwinders take for something else:
//
//	proof CASE FILE [fatal]
//
// It writes to FILE where its C functions return to, innermost first. With
// the third argument Go does not catch faults.
package main

/*
#cgo LDFLAGS: -pthread -ldl
void proof(const char *what, const char *file, int fatal);
*/
import "C"

import (
	"os"
	"runtime"
	"strings"

	_ "github.com/clewdbg/clew/integration/testdata/proof/split"
)

func init() { runtime.LockOSThread() }

// main does it on the main thread, or if so asked on another one of Go's.
func main() {
	what, elsewhere := strings.CutSuffix(os.Args[1], "-thread")
	if !elsewhere {
		C.proof(C.CString(what), C.CString(os.Args[2]), C.int(len(os.Args)-3))
		return
	}
	done := make(chan bool)
	go func() {
		runtime.LockOSThread()
		C.proof(C.CString(what), C.CString(os.Args[2]), C.int(len(os.Args)-3))
		done <- true
	}()
	<-done
}
