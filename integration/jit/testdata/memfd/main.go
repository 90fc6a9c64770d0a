// Command memfd loads a library that is in memory only, calls its function hop, and is called
// back. It writes down the return addresses that were recorded.
package main

/*
#cgo CFLAGS: -D_GNU_SOURCE
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct record {
	int count;
	void *ra[16];
};

extern void called(struct record *r);

static int back(void **next, struct record *r) {
	r->ra[r->count++] = __builtin_return_address(0);
	called(r);
	return 1;
}

static void *load(const void *data, size_t size) {
	char path[64];
	int fd = memfd_create("generated", 0);
	if (write(fd, data, size) != size)
		return NULL;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	void *library = dlopen(path, RTLD_NOW);
	close(fd);
	return library ? dlsym(library, "hop") : NULL;
}

static int run(void *hop) {
	void *next[] = {back};
	return ((int (*)(void **, struct record *))hop)(next, calloc(1, sizeof(struct record)));
}
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
)

//export called
func called(r *C.struct_record) {
	for _, ra := range r.ra[:r.count] {
		fmt.Printf("%#x\n", uintptr(ra))
	}
	runtime.Breakpoint()
}

func main() {
	library, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	hop := C.load(C.CBytes(library), C.size_t(len(library)))
	if hop == nil {
		panic("no library")
	}
	C.run(hop)
}
