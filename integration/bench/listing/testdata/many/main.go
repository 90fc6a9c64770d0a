// Command many has as many goroutines as it is told to, some of them in C, and measures
// for how long it stands still: a thread of the highest priority looks at the clock all
// the time, and keeps the longest gap in a file.
//
//	many GOROUTINES IN_C FILE
package main

/*
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static volatile int depth;

__attribute__((noinline)) static int in_c(int n) {
	if (n > 0) {
		int r = in_c(n - 1);
		depth = r;
		return r + 1;
	}
	return pause();
}

static int64_t now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void *watch(void *p) {
	volatile int64_t *longest = p;
	struct timespec nap = {0, 50000};
	for (int64_t last = now();;) {
		nanosleep(&nap, 0);
		int64_t t = now();
		if (t - last > *longest) *longest = t - last;
		last = t;
	}
}

static int watch_clock(char *path) {
	pthread_t th;
	struct sched_param first = {.sched_priority = 50};
	int fd = open(path, O_RDWR);
	void *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED || pthread_create(&th, 0, watch, p)) return -1;
	return pthread_setschedparam(th, SCHED_FIFO, &first); // without rights gaps are longer
}
*/
import "C"

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

var never = make(chan int)

//go:noinline
func deep(n int) {
	if n > 0 {
		deep(n - 1)
		return
	}
	<-never
}

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	inC, _ := strconv.Atoi(os.Args[2])
	for i := range n - 1 {
		if i < inC {
			go C.in_c(C.int(i % 8))
		} else {
			go deep(i % 8)
		}
	}
	time.Sleep(2 * time.Second) // until they wait
	priority := C.watch_clock(C.CString(os.Args[3]))
	fmt.Println("ready, priority", priority == 0)
	for {
		time.Sleep(time.Hour)
	}
}
