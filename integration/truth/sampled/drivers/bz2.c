// Compression with an allocator in Go, and decompression.
#include <stdlib.h>
#include <string.h>

typedef int (*back)(int);
struct bz { char *in; unsigned in_n, in_lo, in_hi; char *out; unsigned out_n, out_lo, out_hi; void *state;
	void *(*alloc)(void *, int, int); void (*release)(void *, void *); void *opaque; };
extern int BZ2_bzCompressInit(struct bz *, int, int, int), BZ2_bzCompress(struct bz *, int), BZ2_bzCompressEnd(struct bz *);
extern int BZ2_bzDecompressInit(struct bz *, int, int), BZ2_bzDecompress(struct bz *), BZ2_bzDecompressEnd(struct bz *);

static back go;
static void *alloc(void *o, int n, int size) { go(n); return malloc((size_t)n * size); }
static void release(void *o, void *p) { go(1); free(p); }

int run(back b) {
	static char in[300], out[900], again[400];
	go = b;
	for (int i = 0; i < sizeof in; i++)
		in[i] = "abracadabra simsalabim"[i * i % 22];
	struct bz c = {in, sizeof in, 0, 0, out, sizeof out, 0, 0, 0, alloc, release};
	if (BZ2_bzCompressInit(&c, 1, 0, 30) || BZ2_bzCompress(&c, 2) != 4 || BZ2_bzCompressEnd(&c))
		return 1;
	struct bz d = {out, c.out_lo, 0, 0, again, sizeof again, 0, 0, 0, alloc, release};
	if (BZ2_bzDecompressInit(&d, 0, 1) || BZ2_bzDecompress(&d) != 4 || BZ2_bzDecompressEnd(&d))
		return 2;
	return memcmp(in, again, sizeof in) != 0;
}
