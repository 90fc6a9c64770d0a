#include "native.h"
#include "_cgo_export.h"
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

int add(int a, int b) {
	int c = a + b; // @add
	return c;      // @add-return
}

static int inner(int n) {
	int m = n * 3; // @inner
	return m;      // @inner-return
}

int outer(int n) {
	int m = n + 1; // @outer
	m = inner(m);  // @outer-call
	return m + 1;  // @outer-return
}

int fails(int n) {
	errno = EINVAL; // @fails
	return n;
}

int calling(int n) {
	int m = n + 1;     // @calling
	m = goCallback(m); // @calling-call
	return m * 2;      // @calling-return
}

int by_pointer(int n) {
	int (*f)(int) = goCallback; // @pointer
	int m = f(n);               // @pointer-call
	return m + 2;               // @pointer-return
}

int parent(int n) {
	int p = getppid();  // @parent
	return p > n;       // @parent-return
}

int signalled(int n) {
	kill(getpid(), SIGUSR1); // @signalled
	return n + 1;            // @signalled-return
}

static void *thread(void *arg) {
	int n = goCallback(4);  // @thread
	return (void *)(long)n; // @thread-return
}

int thread_calls(int n) {
	pthread_t t;
	void *out;
	pthread_create(&t, 0, thread, 0);
	pthread_join(t, &out); // @thread-join
	return n + (int)(long)out;
}

int nested(int n) {
	int m = add(inner(n), outer(n)); // @nested
	m = add(m, goCallback(m));       // @nested-callback
	return m;                        // @nested-return
}

static jmp_buf place;

static int jumping(int n) {
	if (n > 0)            // @jumping
		longjmp(place, 1);
	return n;
}

int jumps(int n) {
	if (setjmp(place) == 0) // @jumps
		n = jumping(n);     // @jumps-call
	n += 1;                 // @jumps-after
	return n;
}
