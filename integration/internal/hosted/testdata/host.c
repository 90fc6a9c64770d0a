// host RECORD: calls Go, which waits. RECORD gets the return addresses of the calls
// on the way, innermost first.
#include <stdio.h>
#include <stdlib.h>

typedef int (*function)(int);

#ifdef LIBRARY
#include <dlfcn.h>
static function work(void) {
	void *library = dlopen(LIBRARY, RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return (function)dlsym(library, "Work");
}
#else
int Work(int);
static function work(void) { return Work; }
#endif

static const char *record;
static void *outer;

// Called by the call that calls Go next: its return address is that of Go's call.
static __attribute__((noinline)) int note(int n) {
	char temporary[4096];
	snprintf(temporary, sizeof temporary, "%s.new", record);
	FILE *f = fopen(temporary, "w");
	fprintf(f, "%p\n%p\n", __builtin_return_address(0), outer);
	fclose(f);
	rename(temporary, record);
	return n;
}

static __attribute__((noinline)) int run(int n) {
	outer = __builtin_return_address(0);
	volatile function target = note;
	function go = work();
	for (volatile int turn = 0; turn < 2; turn++) {
		n += target(n);
		target = go;
	}
	return n;
}

int main(int argc, char **argv) {
	record = argv[1];
	return run(argc) & 1;
}
