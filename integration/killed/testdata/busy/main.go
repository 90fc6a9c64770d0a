// Command busy works in several threads, and checks what it computes: code that was executed from the middle of an
// instruction, or a register that was lost, shows. Its argument is a file in which it counts.
package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"
)

//go:noinline
func work(n uint64) uint64 {
	sum := step(n)
	for i := range n % 64 {
		sum += step(i)
	}
	return sum
}

//go:noinline
func step(n uint64) uint64 { return n*n + 1 }

func want(n uint64) uint64 {
	m := n % 64
	squares := uint64(0)
	for i := range m {
		squares += i * i
	}
	return n*n + 1 + squares + m
}

func main() {
	counts, err := os.OpenFile(os.Args[1], os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		panic(err)
	}
	var done [3]atomic.Uint64
	for i := range done {
		go func() {
			runtime.LockOSThread()
			for n := uint64(i); ; n++ {
				if got := work(n); got != want(n) {
					fmt.Fprintf(os.Stderr, "work(%d) = %d, want %d\n", n, got, want(n))
					os.Exit(3)
				}
				done[i].Add(1)
				time.Sleep(time.Duration(1+n%7) * time.Millisecond)
			}
		}()
	}
	for {
		var out []byte
		for i := range done {
			out = binary.LittleEndian.AppendUint64(out, done[i].Load())
		}
		if _, err := counts.WriteAt(out, 0); err != nil {
			panic(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
