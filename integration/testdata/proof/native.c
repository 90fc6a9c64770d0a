#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define HERE() note(__builtin_return_address(0))

static FILE *out;
static void *noted[64];
static int n;
volatile int many = 12;

NOINLINE static void note(void *ra) { noted[n++] = ra; }

// What is noted counts from here on.
NOINLINE static void tell(void) {
	while (n > 0) fprintf(out, "%p\n", noted[--n]);
	fclose(out);
}

// A switch by a jump table, in code that keeps no frame pointer, on a thread whose frame
// pointer was zero at its start.
NOINLINE static int stop(int x) { HERE(); tell(); __asm__ volatile("int3"); return x + many; }
NOINLINE static int below(int x) { HERE(); return stop(x + 1) * many; }
NOINLINE static int choose(int x, int y) {
	HERE();
	switch (x) {
	case 0: return below(1) + y;
	case 1: return below(2) * y;
	case 2: return below(y) / 7 + y;
	case 3: return below(many) ^ 17;
	case 4: return below(9) - below(y);
	case 5: return below(6) | y;
	}
	return below(y) + many;
}
NOINLINE static int above(int x) { HERE(); return choose(x, many) + many; }
NOINLINE static int further(int x) { HERE(); return above(x - 3) - many; }
NOINLINE static void *chosen(void *arg) { HERE(); return (void *)(long)(further(many / 2 - 1) + many); }

// Returns through a thunk.
#define THUNK NOINLINE __attribute__((function_return("thunk-extern")))
THUNK static int returns(int x) { HERE(); tell(); return x * many; }
NOINLINE static int calls(int x) { HERE(); return returns(x) + many; }
THUNK static int callsThrough(int x) { HERE(); return calls(x) - many; }
NOINLINE static void *thunked(void *arg) { HERE(); return (void *)(long)(callsThrough(many) + many); }

// Tables that lie (native_amd64.S).
extern int honest3(void *), lies(void *);
void told(void *ra) { note(ra); }
void stopping(void) { tell(); }

void proof(const char *what, const char *file) {
	pthread_t thread;
	void *(*start)(void *) = !strcmp(what, "switch") ? chosen : !strcmp(what, "thunk") ? thunked : 0;
	out = fopen(file, "w");
	if (start) {
		pthread_create(&thread, 0, start, 0);
		pthread_join(thread, 0);
	} else if (!strcmp(what, "tables")) {
		HERE();
		honest3(0);
	}
}
