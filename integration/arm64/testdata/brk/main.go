// A program whose native code executes a breakpoint instruction:
//
//	brk WHERE NUMBER
//
// WHERE is program, library, stripped or jit. It goes on, and says so.
package main

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "traps.h"

typedef int (*trap)(int);

static trap from_library(const char *path, int i) {
	void *library = dlopen(path, RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(9);
	}
	return ((trap *)dlsym(library, "traps"))[i];
}

static trap from_memory(int number) {
	uint32_t *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	code[0] = 0xd4200000 | number << 5;
	code[1] = 0x11000400; // add w0, w0, #1
	code[2] = 0xd65f03c0; // ret
	__builtin___clear_cache((char *)code, (char *)(code + 3));
	return (trap)code;
}

static trap from_program(int i) { return traps[i]; }

static int call(trap f, int n) { return f(n) + 1; }
*/
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

var numbers = []int{0, 1, 77, 1000, 0xf000}

func main() {
	number, _ := strconv.Atoi(os.Args[2])
	i := C.int(slices.Index(numbers, number))
	f := C.from_program(i)
	switch os.Args[1] {
	case "library", "stripped":
		f = C.from_library(C.CString(filepath.Join(filepath.Dir(os.Args[0]), os.Args[1]+".so")), i)
	case "jit":
		f = C.from_memory(C.int(number))
	}
	fmt.Println("went on with", run(f))
}

//go:noinline
func run(f C.trap) int { return int(C.call(f, 40)) + 1 }
