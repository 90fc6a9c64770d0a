// What compilers build in different ways: jump tables, arrays of variable size, aligned
// variables, frames of several pages, calls through pointers, tail calls, functions with
// many arguments, longjmp, functions that never return, vectors.
#include <alloca.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

typedef int (*back)(int);
static back go;
static jmp_buf out;
static volatile int sink;

#define APART static __attribute__((noinline))

APART int leaf(int n) { return n * 7 ^ sink; }

APART int chosen(int n) {
	switch (n % 12) {
	case 0: return go(n);
	case 1: return leaf(n) + 1;
	case 2: sink = n; return go(leaf(n));
	case 3: return strlen("text") + leaf(go(n));
	case 4: sink += go(1) * go(2); return sink;
	case 5: return n > 17 ? go(3) : leaf(3);
	case 6: return -n;
	case 7: sink ^= leaf(4); return go(sink);
	case 8: return leaf(leaf(n));
	case 9: return abs(go(n)) + 5;
	default: return n;
	}
}

APART int sized(int n) {
	int list[n + 1];
	char *more = alloca(n * 3 + 1);
	for (int i = 0; i <= n; i++)
		list[i] = chosen(i);
	memset(more, n, n * 3 + 1);
	return list[n] + more[n] + go(list[0]);
}

APART int aligned(int n) {
	int list[16] __attribute__((aligned(64)));
	for (int i = 0; i < 16; i++)
		list[i] = leaf(i) + n;
	return go(list[n & 15]) + (int)((unsigned long)list & 63);
}

APART int alignedAndSized(int n) {
	int fixed[8] __attribute__((aligned(32))), list[n + 2];
	fixed[n & 7] = chosen(n);
	list[n] = leaf(fixed[n & 7]);
	return go(list[n]);
}

APART int large(int n) {
	char room[9000], other[5000];
	memset(room, n, sizeof room);
	memset(other, room[n], sizeof other);
	return go(room[n * 3] + other[n]);
}

APART int many(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j) { return go(a + j) + leaf(b * c - d + e * f - g + h * i); }

APART int variadic(int n, ...) {
	int sum = 0;
	va_list args;
	va_start(args, n);
	while (n-- > 0)
		sum += n & 1 ? (int)va_arg(args, double) : va_arg(args, int);
	va_end(args);
	return go(sum);
}

APART int tail(int n) { return n > 20 ? chosen(n) : many(n, 1, 2, 3, 4, 5, 6, 7, 8, 9); }

APART int tailOfPointer(int (*f)(int), int n) { return sink += 2, f(n); }

static __attribute__((noreturn, noinline, cold)) void fail(int n) {
	go(n);
	longjmp(out, n);
}

APART int mayFail(int n) {
	int keep = leaf(n);
	if (__builtin_expect(n > 2, 0))
		fail(n);
	return go(keep);
}

APART int recursive(int n) { return n <= 0 ? go(0) : recursive(n - 1) + leaf(n) + (n > 3 ? recursive(n - 4) : 0); }

APART int jumps(const char *code) {
	static const void *const to[] = {&&add, &&call, &&loop, &&end};
	int sum = 0;
	goto *to[(int)*code++];
add: sum += leaf(sum); goto *to[(int)*code++];
call: sum += go(sum); goto *to[(int)*code++];
loop: for (int i = 0; i < 2; i++) sum ^= chosen(i); goto *to[(int)*code++];
end: return sum;
}

struct triple { long a, b, c; };
APART struct triple returned(int n) { return (struct triple){go(n), leaf(n), n}; }

APART double floats(double x, int n) {
	double list[32];
	for (int i = 0; i < 32; i++)
		list[i] = x * i + n;
	for (int i = 1; i < 32; i++)
		list[i] += list[i - 1] * list[31 - i];
	return list[go(n) & 31];
}

static int compare(const void *a, const void *b) { return go(*(const int *)a) - go(*(const int *)b); }

int run(back b) {
	static int (*const all[])(int) = {leaf, chosen, sized, aligned, alignedAndSized, large, tail, recursive, mayFail};
	int list[] = {4, 2, 7, 1, 9};
	go = b;
	for (int n = 0; n < 14; n++)
		sink += chosen(n);
	for (volatile int i = 0; i < sizeof all / sizeof *all; i++)
		for (volatile int n = 1; n < 26; n += 11)
			if (!setjmp(out))
				sink += all[i](n % 13) + tailOfPointer(all[i], n % 5);
	sink += many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) + variadic(4, 1, 2.5, 3, 4.5) + returned(3).b + (int)floats(1.5, 2);
	sink += jumps("\0\1\2\0\1\3");
	qsort(list, 5, sizeof *list, compare);
	return 0;
}
