// Compression at a low and a middle level with an allocator in Go, and decompression.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int (*back)(int);
struct allocator { void *(*alloc)(void *, size_t, size_t); void (*release)(void *, void *); void *opaque; };
extern int lzma_easy_buffer_encode(uint32_t, int, const struct allocator *, const uint8_t *, size_t, uint8_t *, size_t *, size_t);
extern int lzma_stream_buffer_decode(uint64_t *, uint32_t, const struct allocator *, const uint8_t *, size_t *, size_t, uint8_t *, size_t *, size_t);

static back go;
static void *alloc(void *o, size_t n, size_t size) { go(n); return malloc(n * size); }
static void release(void *o, void *p) { go(1); free(p); }

int run(back b) {
	static uint8_t in[400], out[900], again[400];
	struct allocator a = {alloc, release};
	go = b;
	for (int i = 0; i < sizeof in; i++)
		in[i] = "lempel ziv markov chain"[i * i % 23];
	for (int level = 0; level < 2; level++) {
		uint64_t memory = 1 << 28;
		size_t n = 0, from = 0, to = 0;
		if (lzma_easy_buffer_encode(level * 3, 4, &a, in, sizeof in, out, &n, sizeof out))
			return 1;
		if (lzma_stream_buffer_decode(&memory, 0, &a, out, &from, n, again, &to, sizeof again) || memcmp(in, again, to))
			return 2;
	}
	return 0;
}
