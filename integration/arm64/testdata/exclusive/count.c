#include "count.h"

static volatile int before, after;

void count_in_c(int *to) {
	int n = before;
	__atomic_fetch_add(to, 1, __ATOMIC_SEQ_CST);
	after = n;
}
