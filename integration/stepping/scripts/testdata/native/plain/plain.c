#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int twice(int n) {
	int m = n * 2; // @twice
	return m;      // @twice-return
}

static int thrice(int n) {
	int m = n * 3; // @thrice
	return m;      // @thrice-return
}

static int lines(int n) {
	int m = n + 1; // @lines
	m = twice(m);  // @lines-call
	if (m > 100)   // @lines-if
		m = 100;   // @lines-then
	else
		m += 3;    // @lines-else
	return m;      // @lines-return
}

static int loops(int n) {
	int sum = 0;                  // @loops
	for (int i = 0; i < 3; i++) { // @loops-for
		sum += twice(i);          // @loops-body
	}
	for (int i = 0; i < 500; i++) sum += thrice(i); // @loops-one
	while (sum > 10)              // @loops-while
		sum /= 2;                 // @loops-half
	return sum + n;               // @loops-return
}

static int choose(int n) {
	switch (n) { // @choose
	case 0:
		return 5;
	case 1:
		n += 7; // @choose-one
		break;
	case 2:
		n += 9;
		break;
	case 3:
		n += 11;
		break;
	case 4:
		n += 12;
		break;
	case 5:
		n += 13;
		break;
	}
	return n; // @choose-return
}

static int rec(int n) {
	int m = n;               // @rec
	if (n > 0)               // @rec-if
		m += rec(n - 1);     // @rec-call
	return m;                // @rec-return
}

static int space(int n) {
	char *p = alloca(n * 16 + 16);  // @space
	memset(p, n, n * 16 + 16);      // @space-set
	if (n > 0)                      // @space-if
		p[0] += space(n - 1);       // @space-call
	return p[0];                    // @space-return
}

static int nests(int n) {
	int m = twice(thrice(n)) + // @nests
	        twice(n);          // @nests-second
	return m;                  // @nests-return
}

static int (*const table[])(int) = {twice, thrice};

static int pointers(int n) {
	int (*volatile f)(int) = thrice; // @pointers
	int m = f(n);                    // @pointers-call
	m += table[n & 1](m);            // @pointers-table
	return m;                        // @pointers-return
}

static int compare(const void *a, const void *b) {
	return *(const int *)a - *(const int *)b; // @compare
}

static int sorts(int n) {
	int list[] = {3, n, 2};                           // @sorts
	qsort(list, 3, sizeof *list, compare);            // @sorts-call
	return list[0];                                   // @sorts-return
}

static jmp_buf place;

static void leaps(int n) {
	if (n)                // @leaps
		longjmp(place, n);
}

static int lands(int n) {
	int m = setjmp(place); // @lands
	if (m == 0)            // @lands-if
		leaps(n);          // @lands-call
	return m;              // @lands-return
}

static volatile int caught;

static void handler(int s) {
	caught = s; // @handler
}

static int signals(int n) {
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK}, old;
	sigaction(SIGUSR2, &action, &old);
	raise(SIGUSR2);                   // @signals
	n += caught;                      // @signals-after
	sigaction(SIGUSR2, &old, 0);
	return n;
}

static pthread_barrier_t barrier;

static void *worker(void *arg) {
	long n = (long)arg;          // @worker
	for (int i = 0; i < 20; i++) // @worker-for
		n += twice(i);           // @worker-call
	pthread_barrier_wait(&barrier); // @worker-wait
	return (void *)n;            // @worker-return
}

static int threads(int n) {
	pthread_t t[4];
	pthread_barrier_init(&barrier, 0, 4);
	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], 0, worker, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0); // @threads-join
	return n;
}

int run_plain(int n) {
	n = lines(n);     // @run-lines
	n = loops(n);     // @run-loops
	n = choose(1);    // @run-choose
	n = rec(3);       // @run-rec
	n = space(3);     // @run-space
	n = nests(n);     // @run-nests
	n = pointers(n);  // @run-pointers
	n = sorts(n);     // @run-sorts
	n = lands(1);     // @run-lands
	n = signals(n);   // @run-signals
	n = threads(n);   // @run-threads
	return n;         // @run-return
}
