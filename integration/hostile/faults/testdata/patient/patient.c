#include "patient.h"
#include <stddef.h>
#include <unistd.h>

__attribute__((noinline)) int landmark(int n) {
	__asm__ volatile(""); // or the calls were dropped
	return n + 1;
}

__attribute__((noinline)) static int bottom(volatile long *pulse) {
	int n = 0;
	if (pulse == NULL)
		__asm__ volatile("int3");
	while (pulse != NULL) {
		++*pulse;
		n = landmark(n);
		usleep(1000);
	}
	return n;
}

__attribute__((noinline)) int descend(int n, volatile long *pulse) {
	if (n <= 1)
		return bottom(pulse) + 1;
	return descend(n - 1, pulse) + 1;
}
