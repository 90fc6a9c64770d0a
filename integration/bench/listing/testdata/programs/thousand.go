package main

/*
#include <stdint.h>
#include <unistd.h>

extern void parkInGo(uintptr_t);

static volatile int depth;

__attribute__((noinline)) static int descend(int n) {
	if (n > 0) {
		int r = descend(n - 1);
		depth = r;
		return r + 1;
	}
	return pause();
}

__attribute__((noinline)) static int call_go(int n) {
	parkInGo(n);
	depth = n;
	return n;
}
*/
import "C"

import "sync"

// A thousand goroutines: in channels, in locks, in C, and in Go that C has called.

var (
	queue = make(chan int)
	gate  sync.Mutex
)

//export parkInGo
func parkInGo(n C.uintptr_t) { receive(int(n)) }

//go:noinline
func receive(n int) int {
	if n > 0 {
		return receive(n-1) + 1
	}
	return <-queue
}

//go:noinline
func lock(n int) {
	gate.Lock()
	defer gate.Unlock()
	queue <- n
}

//go:noinline
func native(n int) { C.descend(C.int(n)) }

//go:noinline
func through(n int) { C.call_go(C.int(n)) }

func main() {
	gate.Lock()
	for i := range 250 {
		go receive(i % 7)
		go receive(i % 30)
		go lock(i)
		if i%5 < 4 {
			go func() { select {} }()
		} else if i%2 == 0 {
			go native(i % 9)
		} else {
			go through(i % 9)
		}
	}
	report()
}
