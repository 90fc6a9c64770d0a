// compress and uncompress with an allocator that calls back.
#include <stdlib.h>
#include <string.h>

typedef int (*back)(int);
struct z { const unsigned char *in; unsigned in_n; unsigned long in_total; unsigned char *out; unsigned out_n; unsigned long out_total;
	const char *msg; void *state; void *(*alloc)(void *, unsigned, unsigned); void (*release)(void *, void *); void *opaque;
	int type; unsigned long adler, reserved; };
extern int deflateInit2_(struct z *, int, int, int, int, int, const char *, int), deflate(struct z *, int), deflateEnd(struct z *);
extern int inflateInit_(struct z *, const char *, int), inflate(struct z *, int), inflateEnd(struct z *);
extern int uncompress(unsigned char *, unsigned long *, const unsigned char *, unsigned long);

static back go;
static void *alloc(void *o, unsigned n, unsigned size) { go(n); return calloc(n, size); }
static void release(void *o, void *p) { go(1); free(p); }

int run(back b) {
	static unsigned char in[500], out[800], again[500];
	go = b;
	for (int i = 0; i < sizeof in; i++)
		in[i] = "the quick brown fox jumps"[(i * i / 7 + i) % 25];
	for (int level = 1; level <= 9; level += 4) {
		struct z s = {in, sizeof in, 0, out, sizeof out, 0, 0, 0, alloc, release};
		unsigned long n = sizeof again;
		if (deflateInit2_(&s, level, 8, 9, 1, 0, "1.2.13", sizeof s) || deflate(&s, 4) != 1 || deflateEnd(&s))
			return 1;
		if (uncompress(again, &n, out, s.out_total) || memcmp(in, again, n))
			return 2;
	}
	return 0;
}
