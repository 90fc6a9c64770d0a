#include "native.h"
#include "_cgo_export.h"
#include <pthread.h>
#include <stdlib.h>

/* The deepest function: tests stop here. */
static int whisk(int n) {
	int milk = n * 2;
	milk = milk + 1;
	return milk;
}

int froth(int cups) {
	int foam = cups + 7;
	foam = whisk(foam);
	return foam;
}

static int crush(int n) {
	int beans = n + 1;
	return pour(beans) + beans;
}

int grind(int cups) {
	int shots = cups * 3;
	return crush(shots) + shots;
}

/* A thread that Go knows nothing of. */
static void *barista(void *arg) {
	int *cups = arg;
	*cups = froth(*cups);
	return 0;
}

int order(int cups) {
	pthread_t thread;
	pthread_create(&thread, 0, barista, &cups);
	pthread_join(thread, 0);
	return cups;
}

/* Leaves a core file. */
void spill(int cups) {
	if (froth(cups) > 0)
		abort();
}
