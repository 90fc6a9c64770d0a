// Compiled as C, and as C++ for what only C++ does: see throw.h.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "native.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __clang__
#define FRAME __attribute__((noinline))
#else
#define FRAME __attribute__((noinline, noclone))
#endif

// What only assembly says: a trap, a pause of a loop, two registers that a function keeps,
// system calls without the C library, and the interrupted program counter.
#ifdef __aarch64__
#define TRAP __asm__ volatile("brk #1000")
#define RELAX __asm__ volatile("yield")
#define KEPT "x19", "x20"
#define SYSTEM(number, first, second)                                             \
	register long result __asm__("x0") = (first);                             \
	register long other __asm__("x1") = (second), none2 __asm__("x2") = 0;    \
	register long none3 __asm__("x3") = 0, call __asm__("x8") = (number);     \
	__asm__ volatile("svc #0" : "+r"(result) : "r"(other), "r"(none2), "r"(none3), "r"(call) : "memory")
#define WAIT SYSTEM(SYS_ppoll, 0, 0)
#define KILL(signal)                                                              \
	long tid = syscall(SYS_gettid);                                           \
	SYSTEM(SYS_tkill, tid, signal)
#define INTERRUPTED(context) (context)->uc_mcontext.pc
#else
#define TRAP __asm__ volatile("int3")
#define RELAX __asm__ volatile("pause")
#define KEPT "rbx", "r12"
#define WAIT                                                                      \
	long result = SYS_pause;                                                  \
	__asm__ volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory")
#define KILL(signal)                                                              \
	long result = SYS_tkill;                                                  \
	long tid = syscall(SYS_gettid);                                           \
	__asm__ volatile("syscall" : "+a"(result) : "D"(tid), "S"((long)(signal)) : "rcx", "r11", "memory")
#define INTERRUPTED(context) (context)->uc_mcontext.gregs[REG_RIP]
#endif

// The record of one thread, innermost entry last. The kinds are
//   F  an ordinary function
//   E  one that Go has entered: its caller is cgo's stub
//   B  cgo's stub through which C calls Go
//   T  a thread's first function: its caller is libc's
//   S  a signal handler: its caller is the trampoline, "extra" the PC that the
//      signal interrupted
//   C  code of the function, whose return address is unknown
//   O  the same, where the function may call through one of the compiler's or not
struct entry {
	char kind;
	void *fn, *ra, *cfa, *extra;
};
struct record {
	int depth;
	struct entry next;
	struct entry entries[8192];
};
static __thread struct record *mine;

static const char *stem;
static int stop;
static function callback;

static struct record *record(void) {
	if (!mine)
		mine = (struct record *)calloc(1, sizeof *mine);
	return mine;
}

FRAME static void enter(char kind, void *fn, void *ra, void *cfa, void *extra) {
	struct record *r = record();
	if (r->depth == (int)(sizeof r->entries / sizeof r->entries[0]))
		abort();
	r->entries[r->depth++] = (struct entry){kind, fn, ra, cfa, extra};
}
FRAME static void leave(void) { record()->depth--; }

#define ENTER(kind, fn) enter(kind, (void *)(fn), __builtin_return_address(0), __builtin_dwarf_cfa(), 0)

// The mappings as they are at the stop, to judge addresses by.
static void write_maps(void) {
	char name[4096], buffer[4096];
	snprintf(name, sizeof name, "%s.maps", stem);
	int in = open("/proc/self/maps", O_RDONLY), out = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	for (ssize_t n; (n = read(in, buffer, sizeof buffer)) > 0;)
		if (write(out, buffer, n) != n)
			abort();
	close(in);
	close(out);
}

FRAME static void write_record(void) {
	char name[4096], temporary[4200];
	struct record *r = record();
	write_maps();
	snprintf(name, sizeof name, "%s.%ld", stem, (long)syscall(SYS_gettid));
	snprintf(temporary, sizeof temporary, "%s.new", name);
	FILE *f = fopen(temporary, "w");
	for (int i = r->depth - 1; i >= 0; i--) {
		struct entry *e = &r->entries[i];
		fprintf(f, "%c 0x%lx 0x%lx 0x%lx 0x%lx\n", e->kind, (long)e->fn, (long)e->ra, (long)e->cfa, (long)e->extra);
	}
	fclose(f);
	rename(temporary, name);
}

// learn stands in for a function that cannot record its own entry, because it
// stops there or is not ours: called first from the very call that calls the
// function afterwards, it enters that one's return address and CFA.
FRAME static int learn(int n) {
	struct entry *e = &record()->next;
	enter(e->kind, e->fn, __builtin_return_address(0), __builtin_dwarf_cfa(), 0);
	write_record();
	return n;
}

// CALL calls the function twice by one call instruction, as learn and as
// itself. The volatile count keeps the compiler from unrolling, the volatile
// target from making two calls of known functions of it.
#define CALL(k, f, n)                                       \
	do {                                                    \
		function volatile target = learn;                   \
		record()->next = (struct entry){k, (void *)(f)};    \
		for (volatile int turn = 0; turn < 2; turn++) {     \
			n += target(n);                                 \
			target = (f);                                   \
		}                                                   \
		leave();                                            \
	} while (0)

FRAME int leaf_int3(int n) {
	TRAP;
	return n + 1;
}
FRAME int leaf_break(int n) {
	volatile int local[4] = {n, n + 1};
	__asm__ volatile("" ::: KEPT);
	return local[0] + local[1];
}
FRAME int leaf_tiny(int n) {
	return n * 3 + 1;
}
// Calls by an entry of the procedure linkage table, and enters what that entry's
// return address and CFA are: the stack pointer of this call.
extern char plt_call[], plt_return[];
FRAME int leaf_plt(int n) {
	void *sp;
#ifdef __aarch64__
	__asm__ volatile("mov %0, sp" : "=r"(sp));
	enter('F', plt_call, plt_return, sp, 0);
	write_record();
	register long result __asm__("x0");
	__asm__ volatile(
		".globl plt_call, plt_return\n.hidden plt_call, plt_return\n"
		"plt_call: bl getppid\nplt_return:"
		: "=r"(result)
		:
		: "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x30", "memory", "cc");
#else
	long result;
	__asm__ volatile("mov %%rsp, %0" : "=r"(sp));
	enter('F', plt_call, plt_return, sp, 0);
	write_record();
	__asm__ volatile(
		".globl plt_call, plt_return\n.hidden plt_call, plt_return\n"
		"plt_call: call getppid@PLT\nplt_return:"
		: "=a"(result)
		:
		: "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
#endif
	leave();
	return n + (int)result;
}
FRAME int leaf_segv(int n) {
	*(volatile int *)8 = n;
	return n + 1;
}
FRAME int leaf_spin(int n) {
	for (volatile int forever = 1; forever;)
		RELAX;
	return n;
}
FRAME int leaf_sleep(int n) {
	for (;;)
		pause();
	return n;
}
FRAME int leaf_syscall(int n) {
	for (;;) {
		WAIT;
	}
	return n;
}
FRAME int leaf_raise(int n) {
	KILL(SIGUSR1);
	return n + (int)result;
}

static function leaf(void) {
	static const function leaves[] = {leaf_int3, leaf_break, leaf_segv, leaf_spin, leaf_sleep, leaf_syscall, leaf_raise, leaf_int3, leaf_tiny, leaf_plt};
	return leaves[stop];
}

FRAME static int last(int n) {
	ENTER('F', last);
	function f = leaf();
	CALL('F', f, n);
	leave();
	return n + 1;
}

#ifndef NATIVE_RUST
FRAME static int middle(int n) {
	ENTER('F', middle);
	int r = last(n + 1) + n;
	leave();
	return r;
}
#else // see native.rs
int middle(int n);
void native_enter(int kind, void *fn, void *ra, void *cfa) { enter(kind, fn, ra, cfa, 0); }
void native_leave(void) { leave(); }
int native_depth(void) { return record()->depth; }
void native_unwound(int depth) { record()->depth = depth; }
int native_last(int n) { return last(n); }
#endif

FRAME static int calling(int n) {
	ENTER('F', calling);
	function f = callback;
	CALL('B', f, n);
	leave();
	return n + 2;
}

FRAME static int deep(int n) {
	ENTER('F', deep);
	int r = n > 1 ? deep(n - 1) + 1 : last(n);
	leave();
	return r + 1;
}

FRAME int outer(int n) {
	ENTER('E', outer);
	int r = middle(n + 1) + n;
	leave();
	return r;
}
FRAME int outer_calling(int n) {
	ENTER('E', outer_calling);
	int r = calling(n + 1) + n;
	leave();
	return r;
}
FRAME int outer_deep(int n) {
	ENTER('E', outer_deep);
	int r = deep(n) + n;
	leave();
	return r;
}

// Threads.

struct start {
	function body;
	int n, own_stack;
};

FRAME static void on_signal(int number, siginfo_t *info, void *context) {
	ucontext_t *interrupted = (ucontext_t *)context;
	enter('S', (void *)on_signal, __builtin_return_address(0), __builtin_dwarf_cfa(), (void *)INTERRUPTED(interrupted));
	stop = STOP_INT3;
	middle(number);
	leave();
}

FRAME static void *thread_main(void *arg) {
	ENTER('T', thread_main);
	struct start *s = (struct start *)arg;
	if (s->own_stack) {
		stack_t alternate = {0};
		alternate.ss_sp = malloc(1 << 16);
		alternate.ss_size = 1 << 16;
		sigaltstack(&alternate, 0);
	}
	s->n += s->body(s->n);
	leave();
	return 0;
}

#include "throw.h"

static int in_thread(struct start s) {
	pthread_t t;
	if (pthread_create(&t, 0, thread_main, &s) != 0)
		abort();
	pthread_join(t, 0);
	return s.n;
}
int thread_plain(int n) { return in_thread((struct start){middle, n, 0}); }
int thread_calling(int n) { return in_thread((struct start){calling, n, 0}); }
int thread_signal(int n) { return in_thread((struct start){middle, n, 1}); }

void native_setup(const char *s, int how, function f) {
	stem = strdup(s);
	stop = how;
	callback = f;
	if (how == STOP_CORE) // the kernel, not Go, is to see the int3
		signal(SIGTRAP, SIG_DFL);
	if (how == STOP_RAISE) {
		struct sigaction action;
		memset(&action, 0, sizeof action);
		action.sa_sigaction = on_signal;
		action.sa_flags = SA_SIGINFO | SA_ONSTACK;
		sigaction(SIGUSR1, &action, 0);
	}
}

// native_ready names the places to stop at, and stops.
void native_ready(void) {
	char name[4096];
	snprintf(name, sizeof name, "%s.where", stem);
	FILE *f = fopen(name, "w");
	fprintf(f, "leaf_break %p\nleaf_tiny %p\nplt_call %p\n", (void *)leaf_break, (void *)leaf_tiny, (void *)plt_call);
	fprintf(f, "throw %p\n", throw_place());
	fclose(f);
	TRAP;
}
