// Command collects garbage ten times a second, while one goroutine waits for ever and
// another only a moment each time.
package main

import (
	"fmt"
	"runtime"
	"time"
)

func main() {
	go func() {
		var never chan int
		<-never
	}()
	go func() {
		for {
			time.Sleep(130 * time.Millisecond)
		}
	}()
	for n := 0; ; n++ {
		if n == 10 {
			fmt.Println("ready")
		}
		time.Sleep(100 * time.Millisecond)
		runtime.GC()
	}
}
