package main

/*
#include <semaphore.h>
#include <stdlib.h>

extern int compareInGo(void *, void *);

static sem_t never;

static int compare(const void *a, const void *b) { return compareInGo((void *)a, (void *)b); }

__attribute__((noinline)) static void sorted(void) {
	int list[4] = {4, 3, 2, 1};
	qsort(list, 4, sizeof list[0], compare);
}

__attribute__((noinline)) static int held(void) { return sem_wait(&never); }
*/
import "C"

import (
	"sync"
	"unsafe"
)

// The C library calls Go back, which calls C again.

var (
	mu    sync.Mutex
	taken = make(chan struct{}) // closed by the goroutine that has mu
	first sync.Once
)

//export compareInGo
func compareInGo(a, b unsafe.Pointer) C.int {
	mu.Lock()
	defer mu.Unlock()
	first.Do(func() { close(taken) })
	return C.int(C.held())
}

func main() {
	go C.sorted()
	<-taken // which goroutine comes first must not depend on the scheduler
	for i := 0; i < 6; i++ {
		go C.sorted()
		go func() {
			mu.Lock()
			mu.Unlock()
		}()
	}
	report()
}
