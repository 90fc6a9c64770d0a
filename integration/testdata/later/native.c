#include "_cgo_export.h"
#include <stdlib.h>

int shapes_visit(int n, int (*call)(int));

static int compare(const void *a, const void *b) {
	return again(*(const int *)a) - *(const int *)b;
}

static inline int sorted(int n) {
	int pair[] = {n + 1, n};
	qsort(pair, 2, sizeof pair[0], compare);
	return pair[0];
}

static int visit(int n) { return sorted(n) + 1; }

int enter(int n) { return shapes_visit(n, visit) + 1; }

static inline int twice(int n) {
	__asm__ volatile("int3");
	return 2 * n;
}

void stop(int n) {
	volatile int seen = twice(n);
	(void)seen;
}
