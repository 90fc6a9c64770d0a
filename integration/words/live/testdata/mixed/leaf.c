#include "_cgo_export.h"

int work(int stop);

int run(int stop) {
	return work(stop) + 1; // line: run
}

int leaf(int stop, int n) {
	reached(stop); // line: leaf
	return n + 1;
}
