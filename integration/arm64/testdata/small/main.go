// A program for 32-bit arm: it crashes if it has an argument, and waits otherwise.
package main

import (
	"os"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) > 1 {
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGABRT)
	}
	time.Sleep(time.Hour)
}
