// Compression at levels with different strategies and an allocator in Go, and decompression.
#include <stdlib.h>
#include <string.h>

typedef int (*back)(int);
struct allocator { void *(*alloc)(void *, size_t); void (*release)(void *, void *); void *opaque; };
extern void *ZSTD_createCCtx_advanced(struct allocator), *ZSTD_createDCtx_advanced(struct allocator);
extern size_t ZSTD_compressCCtx(void *, void *, size_t, const void *, size_t, int), ZSTD_decompressDCtx(void *, void *, size_t, const void *, size_t);
extern size_t ZSTD_freeCCtx(void *), ZSTD_freeDCtx(void *);

static back go;
static void *alloc(void *o, size_t n) { go(n); return malloc(n); }
static void release(void *o, void *p) { go(1); free(p); }

int run(back b) {
	static char in[1500], out[2000], again[1500];
	go = b;
	for (int i = 0; i < sizeof in; i++)
		in[i] = "zstandard, finite state entropy"[i * i / 3 % 31];
	for (int level = 1; level < 20; level += 9) {
		struct allocator a = {alloc, release};
		void *c = ZSTD_createCCtx_advanced(a), *d = ZSTD_createDCtx_advanced(a);
		size_t n = ZSTD_compressCCtx(c, out, sizeof out, in, level == 19 ? 300 : sizeof in, level);
		n = ZSTD_decompressDCtx(d, again, sizeof again, out, n);
		if (n > sizeof in || memcmp(in, again, n))
			return 1;
		ZSTD_freeCCtx(c);
		ZSTD_freeDCtx(d);
	}
	return 0;
}
