// An image written and read through functions in Go; a damaged one, which ends in longjmp.
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

typedef int (*back)(int);
typedef void *png;
extern png png_create_write_struct(const char *, void *, void *, void *), png_create_read_struct(const char *, void *, void *, void *);
extern png png_create_info_struct(png), png_get_io_ptr(png);
extern void png_set_write_fn(png, void *, void *, void *), png_set_read_fn(png, void *, void *);
extern void png_set_IHDR(png, png, unsigned, unsigned, int, int, int, int, int), png_write_png(png, png, int, void *), png_read_png(png, png, int, void *);
extern void png_set_rows(png, png, unsigned char **), png_destroy_write_struct(png *, png *), png_destroy_read_struct(png *, png *, png *);
extern jmp_buf *png_set_longjmp_fn(png, void *, size_t);

static back go;
static unsigned char file[2000];
static size_t size, at;
static void put(png p, unsigned char *b, size_t n) { go(n); memcpy(file + size, b, n); size += n; }
static void flush(png p) { go(0); }
static void get(png p, unsigned char *b, size_t n) { go(n); memcpy(b, file + at, n); at += n; }
static void quiet(png p, const char *text) { go(2); }

int run(back b) {
	unsigned char pixels[8][24], *rows[8];
	go = b;
	for (int y = 0; y < 8; y++)
		for (int x = 0; rows[y] = pixels[y], x < 24; x++)
			pixels[y][x] = x * y;
	png w = png_create_write_struct("1.6.39", 0, 0, quiet), info = png_create_info_struct(w);
	png_set_write_fn(w, 0, put, flush);
	png_set_IHDR(w, info, 8, 8, 8, 2, 1, 0, 0);
	png_set_rows(w, info, rows);
	png_write_png(w, info, 0, 0);
	png_destroy_write_struct(&w, &info);
	for (volatile int damaged = 0; damaged < 2; damaged++) {
		png r = png_create_read_struct("1.6.39", 0, 0, quiet), i = png_create_info_struct(r);
		at = 0;
		file[60] ^= damaged;
		if (!setjmp(*png_set_longjmp_fn(r, longjmp, sizeof(jmp_buf)))) {
			png_set_read_fn(r, 0, get);
			png_read_png(r, i, 0, 0);
		} else
			go(damaged);
		png_destroy_read_struct(&r, &i, 0);
	}
	return size < 50;
}
