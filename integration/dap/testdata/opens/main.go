// A program that opens a library, calls it, and closes it: as often as its second argument says, with dlmopen where there is a third.
package main

/*
#cgo CFLAGS: -D_GNU_SOURCE
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>

static int once(const char *name, int n, int apart) {
	void *lib = apart ? dlmopen(LM_ID_NEWLM, name, RTLD_NOW) : dlopen(name, RTLD_NOW);
	if (!lib)
		return -1;
	int (*f)(int) = (int (*)(int))dlsym(lib, "opened");
	int out = f(n);
	dlclose(lib);
	return out;
}
*/
import "C"

import (
	"fmt"
	"os"
	"strconv"
)

func main() {
	times, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	apart := C.int(len(os.Args) - 3)
	name, sum := C.CString(os.Args[1]), C.int(0)
	for n := range times {
		sum += C.once(name, C.int(n), apart)
	}
	fmt.Println("sum", sum)
}
