// Package clock measures for how long its process stands still: a thread of the highest priority looks at the clock all
// the time, and keeps the longest gap in a file.
package clock

/*
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

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

// Watch starts the thread; first is false where it has no higher priority than others.
func Watch(file string) (first bool) { return C.watch_clock(C.CString(file)) == 0 }
