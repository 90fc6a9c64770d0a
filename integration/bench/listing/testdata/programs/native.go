package main

/*
#include <stdint.h>
#include <unistd.h>

extern void inGo(uintptr_t);

static volatile int depth;

__attribute__((noinline)) static int in_c(int n) {
	if (n > 0) {
		int r = in_c(n - 1);
		depth = r;
		return r + 1;
	}
	return pause();
}

__attribute__((noinline)) static int back(int n, uintptr_t h) {
	if (n > 0) {
		int r = back(n - 1, h);
		depth = r;
		return r + 1;
	}
	inGo(h);
	return 0;
}
*/
import "C"

// Goroutines in C, and in Go that C has called.

var never = make(chan int)

//export inGo
func inGo(n C.uintptr_t) {
	if n == 0 {
		<-never
	}
	select {}
}

func query(n int) { C.in_c(C.int(n)) }

func main() {
	for i := 0; i < 6; i++ {
		go query(i)
		go C.back(C.int(i), C.uintptr_t(i&1))
		go func() { <-never }()
	}
	report()
}
