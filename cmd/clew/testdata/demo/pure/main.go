// The demo's program where there is no C compiler: Go only.
package main

import (
	"fmt"
	"runtime"
)

func main() {
	fmt.Println("checksum:", brew(3))
}

//go:noinline
func brew(cups int) int {
	if cups > 0 {
		return brew(cups-1) + cups
	}
	return refill(cups) + 1
}

//go:noinline
func refill(cups int) int {
	runtime.Breakpoint()
	return cups + 1
}
