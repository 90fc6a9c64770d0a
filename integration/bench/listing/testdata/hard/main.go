// Command hard is a process that is hard to look at, and measures for how long it stands still (package clock):
//
//	hard sleep FILE   a thread of it is in a sleep that the kernel does not interrupt (state D)
//	hard storm FILE   threads come and go, thousands in a second
//	hard liar FILE    the runtime's list of goroutines is said to have 2^24 places, over zeros
package main

/*
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

// A parent of vfork(2) sleeps until its child has ended or executes a program.
static void *asleep(void *p) {
	if (vfork() == 0) {
		for (;;) pause();
	}
	return p;
}

static void *nothing(void *p) { return p; }

static void *storm(void *p) {
	for (;;) {
		pthread_t th;
		if (pthread_create(&th, 0, nothing, 0) == 0) pthread_join(th, 0);
	}
	return p;
}

static void start(int which) {
	pthread_t th;
	pthread_create(&th, 0, which ? storm : asleep, 0);
}

static void *zeros(long n) { return mmap(0, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0); }

static void *at(unsigned long address) { return (void *)address; }
*/
import "C"

import (
	"debug/elf"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/clewdbg/clew/integration/bench/listing/testdata/clock"
)

// set writes a variable of the runtime.
func set(name string, value uint64) {
	f, err := elf.Open("/proc/self/exe")
	if err != nil {
		panic(err)
	}
	symbols, err := f.Symbols()
	if err != nil {
		panic(err)
	}
	for _, s := range symbols {
		if s.Name == name {
			*(*uint64)(C.at(C.ulong(s.Value))) = value
		}
	}
}

//go:noinline
func waits(never chan int) { <-never }

func main() {
	never := make(chan int)
	for range 20 {
		go waits(never)
	}
	switch os.Args[1] {
	case "sleep":
		C.start(0)
	case "storm":
		for range 4 {
			C.start(1)
		}
	case "liar":
		debug.SetGCPercent(-1) // a collection goes through the list
		const n = 1 << 24
		set("runtime.allgptr", uint64(uintptr(C.zeros(8*n))))
		set("runtime.allglen", n)
	}
	time.Sleep(200 * time.Millisecond)
	fmt.Println("ready, priority", clock.Watch(os.Args[2]))
	for {
		time.Sleep(time.Hour)
	}
}
