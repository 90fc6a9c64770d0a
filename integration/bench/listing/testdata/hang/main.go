// Command hang calls a C library that waits for a lock which it holds already.
package main

/*
#include <pthread.h>

static pthread_mutex_t handle = PTHREAD_MUTEX_INITIALIZER;

static void leave(void) { pthread_mutex_unlock(&handle); }

static int query(int fails) {
	pthread_mutex_lock(&handle);
	if (fails) {
		return -1;
	}
	leave();
	return 0;
}
*/
import "C"

import (
	"fmt"
	"time"
)

func query(n int) { C.query(C.int(n % 5)) }

func main() {
	for n := range 20 {
		go query(n)
	}
	time.Sleep(300 * time.Millisecond)
	fmt.Println("ready")
	time.Sleep(time.Hour)
}
