/* Functions with every kind of frame that compilers describe: none, saved
   registers, variable size, realigned, with a frame pointer, with calls that do
   not return. Runs as a hosted program; exits with 42. */
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <time.h>

#define NI __attribute__((noinline))
typedef long i64;
volatile i64 sink;
void *volatile keep;

NI static i64 leaf(i64 a) { return a * 3 + 1; }
NI static i64 redzone(i64 a) { volatile i64 x[6]; for (int i = 0; i < 6; i++) x[i] = a + i; return x[a & 3] + x[5]; }
NI static i64 fib(i64 n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
NI static i64 early(i64 a) { if (a & 1) { sink = leaf(a); return 1; } if (a & 2) return leaf(a) + leaf(a + 1); sink += 3; return 7; }
NI static i64 many(i64 a, i64 b, i64 c, i64 d, i64 e, i64 f) {
	i64 t = 0;
	for (i64 i = 0; i < 3; i++) { t += leaf(a + i) * b; t ^= leaf(c) + d; t += leaf(e + t) - f; }
	return t + a + b + c + d + e + f;
}
NI static i64 stacked(i64 a, i64 b, i64 c, i64 d, i64 e, i64 f, i64 g, i64 h, i64 i) { return many(a, b, c, d, e, f) + g * h - leaf(i); }
NI static i64 pushes(i64 a) { return stacked(a, 1, 2, 3, 4, 5, 6, a, 8) + stacked(1, a, 2, 3, 4, 5, 6, 7, a); }
NI static i64 big(i64 a) { volatile char buf[20000]; for (int i = 0; i < 20; i++) buf[i * 999] = i + a; sink += leaf(a); return buf[a & 15]; }
NI static i64 variable(i64 n) {
	volatile i64 x[n]; keep = (void *)x;
	for (i64 i = 0; i < n; i++) x[i] = leaf(i);
	return x[n - 1] + leaf(x[0]);
}
NI static i64 allocates(i64 n) { char *p = __builtin_alloca(n * 17); keep = p; memset(p, 3, n); return leaf(p[1]) + sink; }
NI static i64 aligned(i64 a) {
	volatile __attribute__((aligned(64))) i64 x[8]; keep = (void *)x;
	x[0] = a; x[7] = leaf(a); return x[0] + x[7] + (((i64)x & 63) ? 1000 : 0);
}
NI static i64 alignedVariable(i64 n, i64 a, i64 b, i64 c, i64 d, i64 e, i64 f, i64 g) {
	volatile __attribute__((aligned(64))) i64 x[8]; volatile i64 y[n]; keep = (void *)y;
	x[1] = leaf(a + b); y[0] = leaf(c + d); return x[1] + y[0] + e + f + g;
}
NI static i64 choose(i64 a) {
	switch (a) {
	case 0: return leaf(a);
	case 1: sink = 3; return fib(3);
	case 2: return many(1, 2, 3, 4, 5, a);
	case 3: sink ^= leaf(2); break;
	case 4: return stacked(1, 2, 3, 4, 5, 6, 7, 8, a);
	case 5: sink += leaf(7) * leaf(8); break;
	default: return leaf(a) - 5;
	}
	return sink + leaf(a);
}
NI static i64 checks(i64 a, i64 b) {
	if (a < 0) abort();
	i64 t = leaf(a) + leaf(b);
	if (t == -77) exit(3);
	return t + b;
}
NI static double floats(double x, i64 n) { double s = x; for (i64 i = 0; i < n; i++) { s = s * 1.5 + leaf(i); s += s > 100 ? -90 : 1; } return s; }
NI static double savedFloats(double a, double b, double c) { double t = floats(a, 2); t += floats(b, 2) * c; return t + floats(c, 1) * a + b; }
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static void handler(int sig) { sink += leaf(sig); }

int main(void) {
	int v[] = {5, 3, 9, 1, 7};
	signal(SIGUSR1, handler);
	for (i64 i = 0; i < 8; i++) sink += choose(i) + early(i) + checks(i, 3) + aligned(i);
	sink += fib(5) + redzone(4) + pushes(3) + big(2) + variable(5) + allocates(20) + alignedVariable(4, 1, 2, 3, 4, 5, 6, 7);
	sink += (i64)savedFloats(1, 2, 3) + (i64)strtol("123", 0, 10);
	qsort(v, 5, sizeof v[0], compare);
#ifndef NOSIGNAL
	raise(SIGUSR1);
#endif
	struct timespec now; /* the vDSO */
	clock_gettime(CLOCK_MONOTONIC, &now);
	char *copy = strdup("words");
	sink += strlen(copy) + v[0];
	free(copy);
	return 42;
}
