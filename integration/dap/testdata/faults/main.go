// Command faults ends by a signal in C code: its first argument says by which. Before, it prints the address that the
// signal is about.
package main

/*
#define _GNU_SOURCE
#cgo LDFLAGS: -lpthread
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static void tell(const void *p) {
	printf("%p\n", p);
	fflush(stdout);
}

static char *mapped(int protection) {
	char *p = mmap(0, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	tell(p + 16);
	return p + 16;
}

static volatile int depth;

// overflow calls itself until the stack has ended, and tells where.
static int overflow(int n) {
	volatile char page[1024]; // no step leaves the guard page out
	page[0] = (char)n;
	depth = n;
	return overflow(n + 1) + page[0];
}

static void *thread(void *unused) {
	pthread_attr_t attr;
	void *low;
	size_t size;
	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &low, &size);
	tell(low);
	overflow(0);
	return unused;
}

static int fault(const char *how) {
	if (!strcmp(how, "read-null")) {
		tell(0);
		return *(volatile int *)0;
	}
	if (!strcmp(how, "write-null")) {
		tell((void *)8);
		*(volatile int *)8 = 1;
	}
	if (!strcmp(how, "jump-null")) {
		tell(0);
		((void (*)(void))0)();
	}
	if (!strcmp(how, "write-read-only")) *mapped(PROT_READ) = 1;
	if (!strcmp(how, "read-no-access")) return *(volatile char *)mapped(PROT_NONE);
	if (!strcmp(how, "jump-data")) ((void (*)(void))mapped(PROT_READ | PROT_WRITE))();
	if (!strcmp(how, "unmapped")) {
		char *p = mapped(PROT_READ);
		munmap(p - 16, 4096);
		return *(volatile char *)p;
	}
	if (!strcmp(how, "not-canonical")) return *(volatile char *)0x8000000000000000;
	if (!strcmp(how, "divide")) {
		volatile int one = 1, zero = 0;
		return one / zero;
	}
	if (!strcmp(how, "illegal")) __builtin_trap();
	if (!strcmp(how, "abort")) abort();
	if (!strcmp(how, "beyond-file")) {
		FILE *f = tmpfile();
		char *p = mmap(0, 4096, PROT_READ, MAP_SHARED, fileno(f), 0);
		tell(p);
		return *(volatile char *)p;
	}
	if (!strcmp(how, "thread-stack")) thread(0);
	return 0;
}
*/
import "C"

import (
	"os"
	"runtime"
	"strings"
)

func main() {
	how, elsewhere := strings.CutPrefix(os.Args[1], "other-")
	if !elsewhere {
		C.fault(C.CString(how))
		return
	}
	runtime.LockOSThread() // so that the goroutine gets another thread, whose stack is pthread's
	done := make(chan bool)
	go func() {
		C.fault(C.CString(how))
		close(done)
	}()
	<-done
}
