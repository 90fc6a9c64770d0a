// The functions of a library that is opened when the program runs.
#include "steps.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *library;

static void *find(const char *name) {
	void *f = dlsym(library, name);
	if (!f) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	return f;
}

#define FORWARD(name) \
	int name(int n) { return ((function)find(#name))(n); }
FORWARD(outer)
FORWARD(outer_calling)
FORWARD(outer_again)
FORWARD(outer_crowd)
FORWARD(outer_jump)
FORWARD(outer_waiting)
FORWARD(outer_signal)
FORWARD(thread_run)

void steps_setup(const char *record, function callback) {
	library = dlopen(getenv("STEPS_LIBRARY"), RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	((void (*)(const char *, function))find("steps_setup"))(record, callback);
}
