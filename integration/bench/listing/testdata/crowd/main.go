// Command crowd has goroutines that wait for different things, and writes what the
// runtime says of them.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"
)

//go:noinline
func deep(n int, wait func()) {
	if n > 0 {
		deep(n-1, wait)
		return
	}
	wait()
}

func main() {
	never := make(chan int)
	var mu sync.Mutex
	mu.Lock()
	for i := range 10 {
		go deep(i, func() { <-never })
		go deep(i, mu.Lock)
		go deep(i, func() { select {} })
	}
	go deep(40, func() { <-never })
	go pprof.Do(context.Background(), pprof.Labels("worker", "3", "kind", "slow"), func(context.Context) { <-never })
	go func() {
		runtime.LockOSThread()
		<-never
	}()
	time.Sleep(300 * time.Millisecond)
	for range 3 {
		runtime.GC()
	}
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	if err := os.WriteFile(os.Args[1], fmt.Appendf(buf, "\nchannel %p\n", never), 0o644); err != nil {
		panic(err)
	}
	for {
		time.Sleep(time.Hour) // without a timer the runtime finds the deadlock
	}
}
