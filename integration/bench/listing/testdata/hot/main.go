// Command hot spends its time in ten C functions, and keeps in a file how long it has
// been in each, and how often. A call takes about a millisecond for each part.
//
//	hot PARTS FILE
package main

/*
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>

static int64_t *spent; // by function, in nanoseconds; then how often it was called
static long parts;     // of a call

static int64_t now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

#define HOT(n)                                                        \
	__attribute__((noinline)) static void hot_##n(long rounds) {   \
		for (long part = 0; part < parts; part++) {            \
			int64_t start = now();                         \
			for (volatile long i = 0; i < rounds; i++) {   \
			}                                              \
			__atomic_add_fetch(&spent[n], now() - start, __ATOMIC_RELAXED); \
		}                                                      \
		__atomic_add_fetch(&spent[10 + n], 1, __ATOMIC_RELAXED); \
	}

HOT(0) HOT(1) HOT(2) HOT(3) HOT(4) HOT(5) HOT(6) HOT(7) HOT(8) HOT(9)

static void (*const hot[])(long) = {hot_0, hot_1, hot_2, hot_3, hot_4, hot_5, hot_6, hot_7, hot_8, hot_9};
static const long shares[] = {22, 17, 13, 11, 9, 8, 7, 6, 4, 3};

__attribute__((noinline)) static void work(int n) { hot[n](shares[n] * 100000); }

static int count_in(const char *path, long n) {
	parts = n;
	int fd = open(path, O_RDWR);
	spent = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return spent == MAP_FAILED ? -1 : 0;
}
*/
import "C"

import (
	"fmt"
	"math/rand"
	"os"
	"strconv"
)

func main() {
	parts, err := strconv.Atoi(os.Args[1])
	if err != nil || C.count_in(C.CString(os.Args[2]), C.long(parts)) != 0 {
		panic("no file to count in")
	}
	never := make(chan int)
	for range 20 {
		go func() { <-never }()
	}
	go work()
	fmt.Println("ready, true")
	work()
}

// work calls the functions in any order, so that none goes with the beat of a clock.
func work() {
	for {
		for _, n := range rand.Perm(10) {
			C.work(C.int(n))
		}
	}
}
