package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"time"
)

// Goroutines with labels, with threads of their own, and at timers.

func main() {
	never := make(chan int)
	for i := 0; i < 8; i++ {
		labels := pprof.Labels("tenant", fmt.Sprint(i), "path", "/a/b", "kind", "slow")
		go pprof.Do(context.Background(), labels, func(context.Context) { <-never })
		go func() {
			runtime.LockOSThread()
			<-never
		}()
		go time.Sleep(time.Hour)
		go func() { <-time.After(time.Hour) }()
		go func() {
			for range time.Tick(time.Hour) {
				continue
			}
		}()
	}
	report()
}
