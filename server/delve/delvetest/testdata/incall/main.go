// Command incall stops once. Then two of its threads read from pipes, into which a third writes from time to time.
package main

import (
	"runtime"
	"syscall"
	"time"
)

func init() { runtime.LockOSThread() } // a halt stops the first thread, if it can

func read(from int) {
	for b := make([]byte, 1); ; {
		_, _ = syscall.Read(from, b)
	}
}

func main() {
	var pipes [2][2]int
	for i := range pipes {
		if err := syscall.Pipe(pipes[i][:]); err != nil {
			panic(err)
		}
	}
	go func() {
		for {
			time.Sleep(50 * time.Millisecond)
			for _, p := range pipes {
				_, _ = syscall.Write(p[1], []byte{1})
			}
		}
	}()
	runtime.Breakpoint()
	go read(pipes[1][0])
	read(pipes[0][0])
}
