#define _GNU_SOURCE
#include "spots.h"
#include "steps.h"
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

static int record = -1;
static char permission[4096];
static function callback;

// Data right behind which a wrong return address may point.
volatile unsigned ballast[64];

// enter records where the function that has just begun returns to, and its CFA.
FRAME void enter(const char *name, void *ra, void *cfa) {
	char line[128];
	int n = snprintf(line, sizeof line, "%s %#lx %#lx\n", name, (long)ra, (long)cfa);
	if (write(record, line, n) != n)
		abort();
}
FRAME unsigned stir(unsigned n) {
	for (int i = 0; i < 64; i++)
		ballast[i] = ballast[i] * 31 + n + i;
	return ballast[n % 64] % 1000;
}

FRAME int middle(int n) {
	ENTER("middle");
	volatile int local = n;
	SPOT("middle");
	int r = leaf(n + 1);
	SPOT("middle, later");
	local ^= r;
	return local + stir(r);
}

FRAME int outer(int n) {
	ENTER("outer");
	volatile int local = n;
	SPOT("outer");
	int r = middle(n + 2);
	local ^= r;
	return local + 1;
}

// again stops in its outermost activation; the others return to the same place.
FRAME static int again(int n) {
	volatile int local = n;
	if (n == 5) {
		ENTER("again");
		SPOT("again");
	}
	int r = n > 0 ? again(n - 1) : (int)stir(n);
	local ^= r;
	return local + n;
}
FRAME int outer_again(int n) {
	volatile int local = n;
	int r = again(5);
	local ^= r;
	return local;
}

// shared is called by many threads; what it calls returns to one place.
FRAME static int shared(function f, int n) {
	volatile int local = n;
	int r = f(n);
	local ^= r;
	return local;
}
FRAME static int noise(int n) {
	volatile int local = n;
	return local * 3;
}
FRAME static int door(int n) {
	ENTER("door");
	volatile int local = n;
	SPOT("door");
	local += stir(n);
	for (int i = 0; i < 4; i++) // let the others run
		usleep(1000);
	return local;
}
static volatile int closing;
static void *crowd(void *arg) {
	int n = 0;
	while (!closing) {
		n += shared(noise, n & 7);
		usleep(100);
	}
	return arg;
}
FRAME int outer_crowd(int n) {
	pthread_t t[3];
	for (int i = 0; i < 3; i++)
		if (pthread_create(&t[i], 0, crowd, 0))
			abort();
	volatile int local = n;
	int r = shared(door, n);
	local ^= r;
	closing = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], 0);
	return local;
}

// outer_calling is left through Go, which grows the goroutine's stack.
FRAME static int calling(int n) {
	ENTER("calling");
	volatile int local = n;
	SPOT("calling");
	int r = callback(n + 1);
	local ^= r;
	return local;
}
FRAME int outer_calling(int n) {
	volatile int local = n;
	int r = calling(n + 3);
	local ^= r;
	return local;
}

// thrower never returns.
static jmp_buf out;
FRAME static int thrower(int n) {
	volatile int local = n;
	SPOT("thrower");
	local += stir(n);
	longjmp(out, 1);
	return local;
}
FRAME static int jumping(int n) {
	volatile int local = n;
	local += thrower(n + 1);
	return local;
}
FRAME int outer_jump(int n) {
	volatile int local = n;
	if (!setjmp(out))
		local += jumping(n);
	local += stir(local);
	SPOT("landed");
	return local;
}

// on_signal returns to the trampoline, which goes back to what was interrupted.
static volatile int signalled;
FRAME void on_signal(int number, siginfo_t *info, void *context) {
	ucontext_t *interrupted = context;
#ifdef __aarch64__
	enter("interrupted", (void *)interrupted->uc_mcontext.pc, (void *)interrupted->uc_mcontext.sp);
#else
	enter("interrupted", (void *)interrupted->uc_mcontext.gregs[REG_RIP], (void *)interrupted->uc_mcontext.gregs[REG_RSP]);
#endif
	ENTER("on_signal");
	volatile int local = number;
	SPOT("on_signal");
	signalled = local + stir(number);
}
FRAME int outer_signal(int n) {
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	if (sigaction(SIGUSR1, &action, 0) || raise(SIGUSR1))
		abort();
	volatile int local = n;
	local += signalled;
	return local;
}

// waiting returns when somebody has created the record's file with .go behind its
// name.
FRAME static int waiting(int n) {
	volatile int local = n;
	SPOT("waiting");
	while (access(permission, F_OK) != 0)
		usleep(1000);
	return local + stir(n);
}
FRAME int outer_waiting(int n) {
	volatile int local = n;
	local += waiting(n);
	return local;
}

FRAME static void *thread_main(void *arg) {
	ENTER("thread_main");
	int *n = arg;
	volatile int local = *n;
	SPOT("thread");
	local += outer(*n);
	*n = local;
	return 0;
}
int thread_run(int n) {
	pthread_t t;
	if (pthread_create(&t, 0, thread_main, &n))
		abort();
	pthread_join(t, 0);
	return n;
}

void steps_setup(const char *path, function f) {
	record = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (record < 0)
		abort();
	snprintf(permission, sizeof permission, "%s.go", path);
	callback = f;
}
