#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

int shared_add(int n);
int shared_chosen(int n);

static int calls(int n) {
	n = shared_add(n);    // @calls
	n = shared_add(n);    // @calls-again
	n = shared_chosen(n); // @calls-chosen
	n = shared_chosen(n); // @calls-chosen-again
	n += getppid();       // @calls-parent
	return n;             // @calls-return
}

static int opens(int n) {
	void *handle = dlopen("libopened.so", RTLD_LAZY);           // @opens
	int (*f)(int) = (int (*)(int))dlsym(handle, "opened_half"); // @opens-find
	n = f(n);                                                   // @opens-call
	return n;                                                   // @opens-return
}

int run_shared(int n) {
	n = calls(n); // @run-calls
	n = opens(n); // @run-opens
	return n;
}
