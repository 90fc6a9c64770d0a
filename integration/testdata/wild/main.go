// A program whose C code calls through an invalid pointer:
//
//	wild ADDRESS FILE
//
// It writes to FILE where its C functions begin and return to, innermost first.
package main

/*
#include <stdio.h>
#include <stdlib.h>

static FILE *out;

__attribute__((noinline)) static int calls(int (*volatile to)(int)) {
	fprintf(out, "%p %p\n", (void *)calls, __builtin_return_address(0));
	fclose(out);
	return to(1) + 1;
}

__attribute__((noinline)) static int outer(unsigned long to) {
	return calls((int (*)(int))to) + 1;
}

static int wild(const char *to, const char *file) {
	out = fopen(file, "w");
	return outer(strtoul(to, 0, 0)) + 1;
}
*/
import "C"

import "os"

func main() { println(C.wild(C.CString(os.Args[1]), C.CString(os.Args[2]))) }
