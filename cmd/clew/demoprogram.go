package main

import (
	"fmt"
	"runtime"
)

// demoProgram is an internal command: the demo's program where no other can be built.
const demoProgram = "demo-program"

func runDemoProgram() { fmt.Println("checksum:", brew(3)) }

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
