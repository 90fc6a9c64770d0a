// Compression at three qualities with an allocator in Go, and decompression.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int (*back)(int);
extern void *BrotliEncoderCreateInstance(void *, void *, void *), *BrotliDecoderCreateInstance(void *, void *, void *);
extern int BrotliEncoderSetParameter(void *, int, uint32_t), BrotliEncoderCompressStream(void *, int, size_t *, const uint8_t **, size_t *, uint8_t **, size_t *);
extern int BrotliDecoderDecompressStream(void *, size_t *, const uint8_t **, size_t *, uint8_t **, size_t *);
extern void BrotliEncoderDestroyInstance(void *), BrotliDecoderDestroyInstance(void *);

static back go;
static void *alloc(void *u, size_t n) { go(n); return malloc(n); }
static void release(void *u, void *p) { free(p); }

int run(back b) {
	static uint8_t in[300], out[600], again[400];
	go = b;
	for (int i = 0; i < sizeof in; i++)
		in[i] = "brotli, a general purpose compression"[i * i / 3 % 37];
	for (int quality = 1; quality < 12; quality += 5) {
		size_t n = sizeof in, room = sizeof out, total;
		const uint8_t *from = in;
		uint8_t *to = out;
		void *e = BrotliEncoderCreateInstance(alloc, release, 0), *d = BrotliDecoderCreateInstance(alloc, release, 0);
		BrotliEncoderSetParameter(e, 1, quality);
		BrotliEncoderSetParameter(e, 2, 10);
		if (!BrotliEncoderCompressStream(e, 2, &n, &from, &room, &to, &total))
			return 1;
		from = out, to = again, n = total, room = sizeof again;
		if (BrotliDecoderDecompressStream(d, &n, &from, &room, &to, 0) != 1)
			return 2;
		BrotliEncoderDestroyInstance(e);
		BrotliDecoderDestroyInstance(d);
	}
	return 0;
}
