// Program locals calls Go -> C -> a library -> C -> Go, with variables in every
// frame that has DWARF, and holds two threads of C's beside it. What it prints at
// the end depends on these variables.
package main

/*
#cgo CFLAGS: -g -O0
#cgo LDFLAGS: -ldl -lpthread
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

struct point { int x, y; const char *label; };

static int (*relay)(int (*)(int), int);
static int (*hold)(int);
static int (*trap)(int);

static int load(const char *path) {
	void *l = dlopen(path, RTLD_NOW);
	if (!l) return 0;
	relay = (int (*)(int (*)(int), int))dlsym(l, "relay");
	hold = (int (*)(int))dlsym(l, "hold");
	trap = (int (*)(int))dlsym(l, "trap");
	return relay && hold && trap;
}

extern int goBack(int);

static int back(int x) {
	int inner = x * 10;
	return goBack(inner);
}

static int enter(int depth) {
	int doubled = 2 * depth;
	struct point corner = { 11, 22, "corner" };
	int table[4] = { 5, 6, 7, 8 };
	int r = relay(back, doubled);
	return r + doubled + corner.x + table[3];
}

static volatile int started;

static void *waiter(void *arg) {
	int kept = (int)(intptr_t)arg + 1;
	started = 1;
	return (void *)(intptr_t)hold(kept);
}

static void *trapper(void *arg) {
	int caught = (int)(intptr_t)arg + 1;
	return (void *)(intptr_t)(trap(caught) + caught);
}

static int in_thread(void *(*f)(void *), int x, int wait) {
	pthread_t t;
	void *r = 0;
	pthread_create(&t, 0, f, (void *)(intptr_t)x);
	if (wait) pthread_join(t, &r);
	return (int)(intptr_t)r;
}

static void begin(void) {
	in_thread(waiter, 30, 0);
	while (!started) usleep(1000);
}


static int catch(int x) { return in_thread(trapper, x, 1); }
*/
import "C"

import (
	"fmt"
	"os"
	"unsafe"
)

// pair is a type of Go's.
type pair struct {
	Name  string
	Count int
}

//export goBack
func goBack(x C.int) C.int {
	seen := int(x) + 1
	return C.int(seen) // stop here
}

func outer(depth int) int {
	total := 40 + depth
	names := []string{"ball", "of", "thread"}
	p := pair{"clew", len(names)}
	q := &p
	r := int(C.enter(C.int(depth)))
	return r + total + q.Count + len(names[0])
}

func main() {
	path := C.CString(os.Args[1])
	defer C.free(unsafe.Pointer(path))
	if C.load(path) == 0 {
		fmt.Println("no library")
		os.Exit(1)
	}
	C.begin()
	fmt.Println("first", outer(3))
	fmt.Println("second", outer(4))
	fmt.Println("caught", C.catch(6))
}
