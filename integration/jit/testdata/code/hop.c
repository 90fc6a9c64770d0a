// Copied to where generated code is. It has no relocations.
struct record {
	int count;
	void *ra[16];
};

typedef int (*hop_function)(void **next, struct record *r);

int hop(void **next, struct record *r) {
	volatile int pad[9];
	pad[r->count & 7] = r->count;
	r->ra[r->count++] = __builtin_return_address(0);
	return ((hop_function)next[0])(next + 1, r) + pad[r->count & 7];
}
