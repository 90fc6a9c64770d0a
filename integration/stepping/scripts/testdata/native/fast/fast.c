static volatile int seen;

__attribute__((noinline)) static int leaf(int n) {
	seen += n;        // @leaf
	return seen + 1;  // @leaf-return
}

__attribute__((noinline)) static int jumps(int n) {
	seen += 2;          // @jumps
	return leaf(n + 1); // @jumps-tail
}

__attribute__((noinline)) static int jumps_by(int (*f)(int), int n) {
	seen += 3;   // @jumps-by
	return f(n); // @jumps-by-tail
}

static inline __attribute__((always_inline)) int small(int n) {
	seen += 4;       // @small
	seen += leaf(n); // @small-call
	return seen;     // @small-return
}

static inline __attribute__((always_inline)) int outer(int n) {
	seen += 5;              // @outer
	n += small(seen + n);   // @outer-small
	seen += 6;              // @outer-after
	return n;
}

__attribute__((noinline)) static int inlines(int n) {
	seen += n;            // @inlines
	n += outer(seen + n); // @inlines-outer
	seen += 7;            // @inlines-after
	n += small(n);        // @inlines-small
	return n;             // @inlines-return
}

__attribute__((noinline)) static int counts(const char *p) {
	int n = 0;
	__asm__ volatile("xor %%eax, %%eax\n\tmov $64, %%ecx\n\trepne scasb" : "+D"(p) : : "rax", "rcx", "memory"); // @counts
	seen += n; // @counts-after
	return n;
}

int run_fast(int n) {
	seen += 1;                  // @run
	seen += jumps(n);           // @run-jumps
	seen += jumps_by(leaf, n);  // @run-jumps-by
	seen += inlines(n);         // @run-inlines
	seen += counts("steps");    // @run-counts
	return seen;                // @run-fast-return
}
