#include "native.h"
#include "_cgo_export.h"
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

/* The work after each call keeps the compiler from turning it into a jump. */
int NOINLINE froth(int cups, int seconds) {
	volatile int foam = cups + 7;
	for (unsigned left = seconds; left > 0;)
		left = sleep(left);
	return foam;
}

static NOINLINE int crush(int n) {
	volatile int beans = n + 1;
	return pour(beans) + beans;
}

int NOINLINE grind(int cups) {
	volatile int shots = cups * 3;
	return crush(shots) + shots;
}
