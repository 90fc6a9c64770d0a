// Command loop runs until it is killed. A debugger stops it where it likes.
package main

import (
	"fmt"
	"time"
)

var total int

func add(n int) int {
	total += n // breakpoint
	return total
}

// parked is where a goroutine stays: a step of it never ends.
func parked() {
	select {}
}

func main() {
	go parked()
	go func() {
		for n := 0; ; n++ {
			total -= n % 3 // other
			time.Sleep(time.Millisecond)
		}
	}()
	for n := 0; ; n++ {
		if add(n) < 0 {
			fmt.Println(n)
		}
		time.Sleep(200 * time.Microsecond)
	}
}
