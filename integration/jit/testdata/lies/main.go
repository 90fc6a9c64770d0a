// Command lies has a descriptor of GDB's JIT interface whose list is what its argument
// says, and stops.
package main

/*
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct entry {
	struct entry *next, *prev;
	void *file;
	uint64_t size;
};

struct {
	uint32_t version, action;
	struct entry *relevant, *first;
} __jit_debug_descriptor = {1, 1, 0, 0};

static struct entry *entries(long n) {
	struct entry *all = calloc(n, sizeof *all);
	for (long i = 0; i < n; i++) {
		all[i].next = i + 1 < n ? &all[i + 1] : NULL;
		all[i].file = all;
		all[i].size = 64;
	}
	__jit_debug_descriptor.first = all;
	return all;
}

static void lie(const char *how) {
	mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!strcmp(how, "cycle")) {
		struct entry *all = entries(3);
		all[2].next = &all[1];
	} else if (!strcmp(how, "nowhere")) {
		entries(3)[1].next = (void *)0x123456789000;
	} else if (!strcmp(how, "long")) {
		entries(300000);
	} else if (!strcmp(how, "huge")) {
		struct entry *all = entries(40);
		char *file = malloc(48 << 20);
		memset(file, 0x7f, 48 << 20);
		for (int i = 0; i < 40; i++) {
			all[i].file = file;
			all[i].size = (48 << 20) - i;
		}
	} else if (!strcmp(how, "size")) {
		entries(1)[0].size = ~0ull >> 8;
	} else if (!strcmp(how, "version")) {
		__jit_debug_descriptor.version = 77;
		entries(1);
	}
}
*/
import "C"

import (
	"os"
	"runtime"
)

func main() {
	C.lie(C.CString(os.Args[1]))
	runtime.Breakpoint()
}
