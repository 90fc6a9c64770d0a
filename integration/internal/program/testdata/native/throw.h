// What only C++ and Rust do: exceptions and panics that cross frames, stopped on
// their way. Part of native.c.
#ifdef __cplusplus
#include <cxxabi.h>
#include <unwind.h>

static int stop_in_cleanup;

// Unwinding leaves frames without their leave(): depth goes back to what it was.
FRAME static void cleanup(int depth, int n) {
	record()->depth = depth;
	ENTER('F', cleanup);
	if (stop_in_cleanup)
		middle(n);
	leave();
}

struct guard {
	int depth, n;
	__attribute__((always_inline)) ~guard() { cleanup(depth, n); }
};

struct problem {
	int n;
};

// The way into the unwinder has its truth too, as far as this code can know it.
FRAME static int throwing(int n) {
	ENTER('F', throwing);
	enter('C', (void *)throwing, 0, 0, 0);
	enter('C', (void *)abi::__cxa_throw, 0, 0, 0);
	write_record();
	throw problem{n};
}

FRAME static int crossed(int n) {
	ENTER('F', crossed);
	guard g = {record()->depth, n};
	int r = throwing(n + 1) + g.n;
	leave();
	return r;
}

FRAME static int catching(int n) {
	ENTER('F', catching);
	int depth = record()->depth, r = 0;
	try {
		r = crossed(n + 1) + n;
	} catch (const problem &p) {
		record()->depth = depth;
		r = stop_in_cleanup ? p.n : middle(p.n);
	}
	leave();
	return r + 1;
}

FRAME int outer_catching(int n) {
	ENTER('E', outer_catching);
	int r = catching(n + 1) + n;
	leave();
	return r;
}
FRAME int outer_cleaning(int n) {
	ENTER('E', outer_cleaning);
	stop_in_cleanup = 1;
	int r = catching(n + 1) + n;
	leave();
	return r;
}
static void *throw_place(void) { return (void *)_Unwind_RaiseException; }
#else
#ifdef NATIVE_RUST
int rust_catching(int n, int stop_in_cleanup);
#else
static int rust_catching(int n, int stop_in_cleanup) { return n + stop_in_cleanup; }
#endif
FRAME int outer_catching(int n) {
	ENTER('E', outer_catching);
	int r = rust_catching(n + 1, 0) + n;
	leave();
	return r;
}
FRAME int outer_cleaning(int n) {
	ENTER('E', outer_cleaning);
	int r = rust_catching(n + 1, 1) + n;
	leave();
	return r;
}
static void *throw_place(void) { return 0; }
#endif
