// Command sorts stops in a callback from C++: libstdc++ sorts, and asks Go which of two is less.
package main

// #cgo LDFLAGS: -lstdc++
// extern void sorts(void);
import "C"
import "fmt"

//export inside
func inside(a, b C.int) C.int {
	fmt.Println("inside")
	return a - b
}

func main() { C.sorts() }
