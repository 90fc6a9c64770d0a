package main

import (
	"io"
	"os"
	"os/exec"
	"syscall"
)

// Goroutines that read: through the poller, in system calls, in pipes of package io,
// and of processes.

func raw() {
	var p [2]int
	if err := syscall.Pipe(p[:]); err != nil {
		panic(err)
	}
	_, _ = syscall.Read(p[0], make([]byte, 1))
}

func polled() {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	_, _ = io.ReadAll(r)
	_ = w.Close()
}

func inside(started chan<- struct{}) {
	r, w := io.Pipe()
	go func() { _, _ = io.Copy(io.Discard, io.LimitReader(r, 3)) }()
	started <- struct{}{}
	_, _ = w.Write([]byte("more than is read"))
}

func main() {
	started := make(chan struct{})
	for i := 0; i < 6; i++ {
		go raw()
		go polled()
		go inside(started)
		<-started // one after the other: goroutines have the same IDs each time
	}
	go func() {
		c := exec.Command("sleep", "3600")
		c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		_ = c.Run()
	}()
	report()
}
