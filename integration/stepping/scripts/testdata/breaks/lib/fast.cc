// Built with -O2 as libfast.so.
#include "all.h"

#include <stdexcept>

static volatile int sink;

static inline __attribute__((always_inline)) int inlined(int n) {
	sink = n;           // @inlined
	return sink * 3;
}

__attribute__((noinline)) static int first(int n) {
	return inlined(n) + 1; // @first
}

__attribute__((noinline)) static int second(int n) {
	return inlined(n + 1) + 2; // @second
}

__attribute__((noinline)) static int thrower(int n) {
	if (n > 2)
		throw std::runtime_error("thrown"); // @throw
	return n;
}

extern "C" int quick(int n) {
	int sum = first(n) + second(n);
	try {
		sum += thrower(n);
	} catch (const std::exception &) {
		sum++; // @catch
	}
	return sum;
}
