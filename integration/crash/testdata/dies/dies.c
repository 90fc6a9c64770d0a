#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

extern int calledBack(int);
volatile int zero, sink;

static inline __attribute__((always_inline)) int deref(volatile int *p) { return *p; }
__attribute__((noinline)) int inner(volatile int *p) { int n = deref(p); return n + 1; }
__attribute__((noinline)) int outer(volatile int *p) { int n = inner(p); return n + 2; }
__attribute__((noinline)) void store(volatile int *p) { *p = 1; }
__attribute__((noinline)) int jump(int (*f)(void)) { int n = f(); return n + 1; }
__attribute__((noinline)) int deep(volatile int n) { volatile char room[512]; room[n % 512] = n; int m = deep(n + 1); return m + room[n % 512]; }
__attribute__((noinline)) void smash(volatile int n) { volatile char room[8]; for (int i = 0; i < n; i++) room[i] = 'x'; }
__attribute__((noinline)) void corrupt(void) {
	volatile char *p[4];
	for (int i = 0; i < 4; i++) p[i] = malloc(2000);
	for (int i = 2000; i < 2040; i++) p[1][i] = 0x41;
	for (int i = 0; i < 4; i++) free((void *)p[i]);
}
static void *thread(void *arg) { (void)arg; prctl(PR_SET_NAME, "no-go"); sink = outer((void *)16); return 0; }
static void handler(int s) { sink = outer((void *)24) + s; }
__attribute__((noinline)) int callback(void) { int n = calledBack(1); return n + 1; }

int dies_c(const char *how) {
	if (!strcmp(how, "read")) return outer((void *)8);
	if (!strcmp(how, "wild")) return outer((void *)0x123456789000);
	if (!strcmp(how, "noncanonical")) return outer((void *)0x4141414141414141);
	if (!strcmp(how, "write")) { store((void *)0x10); return 0; }
	if (!strcmp(how, "readonly")) { store((volatile int *)"constant"); return 0; }
	if (!strcmp(how, "null")) return jump(0);
	if (!strcmp(how, "jump")) return jump((int (*)(void))0x7000);
	if (!strcmp(how, "cstack")) return deep(0);
	if (!strcmp(how, "abort")) abort();
	if (!strcmp(how, "heap")) corrupt();
	if (!strcmp(how, "doublefree")) { char *volatile p = malloc(24); free(p); free(p); }
	if (!strcmp(how, "assert")) assert(zero == 1);
	if (!strcmp(how, "smash")) smash(64);
	if (!strcmp(how, "fpe")) return 7 / zero;
	if (!strcmp(how, "ill")) __builtin_trap();
	if (!strcmp(how, "bus")) {
		int fd = memfd_create("short", 0);
		if (ftruncate(fd, 4096)) return 1;
		volatile int *p = mmap(0, 8192, PROT_READ, MAP_SHARED, fd, 0);
		return outer(p + 1024);
	}
	if (!strcmp(how, "thread")) { pthread_t t; pthread_create(&t, 0, thread, 0); pthread_join(t, 0); }
	if (!strcmp(how, "handler")) { struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_ONSTACK}; sigaction(SIGUSR1, &sa, 0); raise(SIGUSR1); }
	if (!strcmp(how, "callback")) return callback();
	return 0;
}
