#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define HERE() note(__builtin_return_address(0))

static void **noted; // the file
static int n;
volatile int many = 12;

NOINLINE static void note(void *ra) { noted[n++] = ra; }

// A switch by a jump table, in code that keeps no frame pointer, on a thread whose frame
// pointer was zero at its start.
NOINLINE static int stop(int x) { HERE(); __asm__ volatile("int3"); return x + many; }
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
THUNK static int returns(int x) { HERE(); return x * many; }
NOINLINE static int calls(int x) { HERE(); return returns(x) + many; }
THUNK static int callsThrough(int x) { HERE(); return calls(x) - many; }
NOINLINE static void *thunked(void *arg) { HERE(); return (void *)(long)(callsThrough(many) + many); }

// Tables that lie (native_amd64.S).
extern int honest3(void *), popped(void), even(int), forks(void), jumps(void), generated(void *);
extern int splits(int);
void told(void *ra) { note(ra); }

// A recursion without end.
NOINLINE static int deep(int x) {
	volatile char room[3 << 10]; // less than a guard page
	HERE();
	room[x & 1023] = x;
	return deep(x + 1) + room[x & 511];
}

// A context of its own.
static ucontext_t back, own;
static char room[64 << 10];
NOINLINE static void inContext(void) { HERE(); stop(many); many++; }

// Code that was generated: mov (%rdi),%eax; push %rbp; mov %rsp,%rbp; pop %rbp; ret.
static const unsigned char code[] = {0x8b, 0x07, 0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3};

// In a library whose functions are bound when they are called.
NOINLINE static int inLibrary(const char *name) {
	void *lib = dlopen(getenv("PROOF_LIBRARY"), RTLD_LAZY);
	int (*f)(void (*)(void *)) = lib ? dlsym(lib, name) : 0;
	HERE();
	return f ? f(told) + many : many;
}

void proof(const char *what, const char *file, int fatal) {
	int f = open(file, O_RDWR | O_CREAT | O_TRUNC, 0600);
	pthread_t thread;
	void *(*start)(void *) = !strcmp(what, "switch") ? chosen : !strcmp(what, "thunk") ? thunked : 0;
	if (fatal) signal(SIGSEGV, SIG_DFL);
	if (ftruncate(f, 64 << 10)) return;
	noted = mmap(0, 64 << 10, PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
	if (start) {
		pthread_create(&thread, 0, start, 0);
		pthread_join(thread, 0);
	} else if (!strcmp(what, "tables")) {
		HERE();
		honest3(0);
	} else if (!strcmp(what, "mutual")) {
		HERE();
		even(5);
	} else if (!strcmp(what, "generated")) {
		void *page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memcpy(page, code, sizeof code);
		HERE();
		generated(page);
	} else if (!strcmp(what, "lazy") || !strcmp(what, "later")) {
		HERE();
		inLibrary(what);
	} else if (!strcmp(what, "split")) {
		HERE();
		many += splits(40);
	} else if (!strcmp(what, "vfork")) {
		HERE();
		if (forks() == 0) _exit(0);
	} else if (!strcmp(what, "longjmp")) {
		HERE();
		jumps();
	} else if (!strcmp(what, "popped")) {
		HERE();
		popped();
	} else if (!strcmp(what, "overflow")) {
		HERE();
		many += deep(many);
	} else if (!strcmp(what, "context")) {
		getcontext(&own);
		own.uc_stack.ss_sp = room;
		own.uc_stack.ss_size = sizeof room;
		own.uc_link = &back;
		makecontext(&own, inContext, 0);
		swapcontext(&back, &own);
	}
	many++;
}
