// Command collects garbage ten times a second, while one goroutine waits for ever, another
// one too, but from a little later on, and a third only a moment each time.
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
		if n == 3 {
			go func() { select {} }()
		}
		if n == 10 {
			fmt.Println("ready")
		}
		time.Sleep(100 * time.Millisecond)
		runtime.GC()
	}
}
