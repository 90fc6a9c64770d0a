// Compiled at run time. Each function records where it returns to.
struct record {
	int count;
	void *ra[16];
};

static inline __attribute__((always_inline)) int twice(int (*back)(struct record *), struct record *r) {
	return back(r) * 2;
}

__attribute__((noinline)) int inner(int (*back)(struct record *), struct record *r, int n) {
	volatile int pad[9];
	pad[n & 7] = n;
	r->ra[r->count++] = __builtin_return_address(0);
	return twice(back, r) + pad[n & 7];
}

__attribute__((noinline)) int outer(int (*back)(struct record *), struct record *r, int n) {
	r->ra[r->count++] = __builtin_return_address(0);
	return inner(back, r, n + 1) + n;
}
