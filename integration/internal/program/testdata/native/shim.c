// The library, loaded when the program has started to run. The functions jump,
// and so are no frames.
#include "native.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef NATIVE_MACHO // see macho.c
void *macho_open(const char *path);
void *macho_symbol(void *image, const char *name);
#define dlopen(path, how) macho_open(path)
#define dlsym macho_symbol
#endif

void (*real_native_setup)(const char *, int, function);

#ifdef __aarch64__
#define JUMP(name) "adrp x16, real_" #name "\nldr x16, [x16, :lo12:real_" #name "]\nbr x16"
#else
#define JUMP(name) "jmp *real_" #name "(%rip)"
#endif

#define FORWARD(name) \
	function real_##name; \
	__asm__(".text\n.globl " #name "\n.type " #name ",@function\n" #name ": " JUMP(name) "\n.size " #name ", .-" #name "\n.previous")

FORWARD(native_ready);
FORWARD(outer);
FORWARD(outer_calling);
FORWARD(outer_catching);
FORWARD(outer_cleaning);
FORWARD(outer_deep);
FORWARD(thread_plain);
FORWARD(thread_calling);
FORWARD(thread_signal);

void native_setup(const char *stem, int stop, function callback) {
	void *library = dlopen(getenv("NATIVE_LIBRARY"), RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(9);
	}
	real_native_setup = (void (*)(const char *, int, function))dlsym(library, "native_setup");
#define RESOLVE(name) real_##name = (function)dlsym(library, #name)
	RESOLVE(native_ready);
	RESOLVE(outer);
	RESOLVE(outer_calling);
	RESOLVE(outer_catching);
	RESOLVE(outer_cleaning);
	RESOLVE(outer_deep);
	RESOLVE(thread_plain);
	RESOLVE(thread_calling);
	RESOLVE(thread_signal);
	real_native_setup(stem, stop, callback);
}
