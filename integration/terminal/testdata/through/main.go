// Command through calls C code that has debug information, which calls a stripped
// library, which calls back into such code: there the program stops itself.
package main

/*
#cgo LDFLAGS: -lthrough
int outer(int n);
*/
import "C"

import "fmt"

func main() {
	fmt.Println("checksum", call(5))
}

//go:noinline
func call(n int) int {
	local := n * 3
	return int(C.outer(C.int(local))) + local
}
