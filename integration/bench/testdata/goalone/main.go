// Command goalone stops in Go code, in a program without any other.
package main

import "fmt"

//go:noinline
func inside(n int) {
	if n > 0 {
		inside(n - 1)
	}
	fmt.Println("inside")
}

func main() { inside(20) }
