#include "native.h"
#include "_cgo_export.h"

#define NOINLINE __attribute__((noinline))

/* The work after each call keeps the compiler from turning it into a jump. */
static NOINLINE int stop_here(int n) {
#if defined(__x86_64__)
	__asm__ volatile("int3");
#else
	__builtin_trap();
#endif
	return n + 1;
}

static NOINLINE int whisk(int n) {
	volatile int milk = n * 2;
	return stop_here(milk) + milk;
}

int NOINLINE froth(int cups) {
	volatile int foam = cups + 7;
	return whisk(foam) + foam;
}

static NOINLINE int crush(int n) {
	volatile int beans = n + 1;
	return pour(beans) + beans;
}

int NOINLINE grind(int cups) {
	volatile int shots = cups * 3;
	return crush(shots) + shots;
}
