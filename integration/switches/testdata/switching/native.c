#define _GNU_SOURCE
#include "native.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FRAME __attribute__((noinline, noclone))

void rung(int); // Go's

// The functions of C that are running, outermost first. Only one thread of the
// program runs any.
struct entry {
	void *fn, *ra, *cfa;
};
struct {
	long depth;
	struct entry entries[64];
} trail;

// The mappings as they are at the start, for who cannot ask the kernel.
static void write_maps(const char *name) {
	char buffer[4096];
	int in = open("/proc/self/maps", O_RDONLY), out = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	for (ssize_t n; (n = read(in, buffer, sizeof buffer)) > 0;)
		if (write(out, buffer, n) != n)
			abort();
	close(in);
	close(out);
}

__attribute__((constructor)) static void start(void) {
	alarm(300); // nobody waits longer for a program that its debugger has lost
	if (getenv("SWITCHING_MAPS"))
		write_maps(getenv("SWITCHING_MAPS"));
}

FRAME static void enter(void *fn, void *ra, void *cfa) {
	if (trail.depth == sizeof trail.entries / sizeof trail.entries[0])
		abort();
	trail.entries[trail.depth++] = (struct entry){fn, ra, cfa};
}
FRAME static void leave(void) { trail.depth--; }

#define ENTER(fn) enter((void *)(fn), __builtin_return_address(0), __builtin_dwarf_cfa())

void nap(void) { usleep(20000); }

FRAME void level(int n) {
	ENTER(level);
	rung(n);
	leave();
}

FRAME void stop(void) {
	ENTER(stop);
#ifdef __x86_64__
	__asm__ volatile("int3");
#else
	__asm__ volatile("brk #0");
#endif
	leave();
}

FRAME void raise_signal(void) {
	ENTER(raise_signal);
#ifdef __x86_64__
	long result = SYS_tkill;
	register long thread __asm__("rdi") = syscall(SYS_gettid);
	register long number __asm__("rsi") = SIGUSR1;
	__asm__ volatile("syscall" : "+a"(result) : "r"(thread), "r"(number) : "rcx", "r11", "memory");
#else
	syscall(SYS_tkill, syscall(SYS_gettid), SIGUSR1);
#endif
	leave();
}

FRAME static void *thread_main(void *arg) {
	ENTER(thread_main);
	level((int)(long)arg);
	leave();
	return 0;
}

void in_thread(int n) {
	pthread_t t;
	if (pthread_create(&t, 0, thread_main, (void *)(long)n) != 0)
		abort();
	pthread_join(t, 0);
}
