/* libsframe SECTION ADDRESSES: how long libsframe takes to open a section, to
   look up addresses (8 bytes each, relative to the section), and to read all rows
   in order: the best of several rounds, in nanoseconds, and the counts. */
#define _GNU_SOURCE
#include <sframe-api.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}
static char *read_file(const char *name, size_t *size) {
	FILE *f = fopen(name, "rb");
	if (!f) exit(2);
	fseek(f, 0, SEEK_END);
	*size = ftell(f);
	rewind(f);
	char *p = malloc(*size);
	if (fread(p, 1, *size, f) != *size) exit(2);
	fclose(f);
	return p;
}
#define BEST(best, ...) do { double t = now(); __VA_ARGS__; t = now() - t; if (!(best) || t < (best)) (best) = t; } while (0)

int main(int argc, char **argv) {
	size_t size, bytes;
	char *section = read_file(argv[1], &size);
	int64_t *addresses = (int64_t *)read_file(argv[2], &bytes);
	size_t n = bytes / 8, found = 0, rows = 0;
	double open = 0, lookup = 0, walk = 0;
	sframe_decoder_ctx *ctx = 0;
	int err;
	(void)argc;
	for (int round = 0; round < 200; round++) {
		if (ctx) sframe_decoder_free(&ctx);
		BEST(open, ctx = sframe_decode(section, size, &err));
		if (!ctx) exit(3);
		found = rows = 0;
		BEST(lookup, for (size_t i = 0; i < n; i++) {
			sframe_frame_row_entry fre;
			found += sframe_find_fre(ctx, addresses[i], &fre) == 0;
		});
		BEST(walk, for (unsigned i = 0; i < sframe_decoder_get_num_fidx(ctx); i++) {
			uint32_t fres, length;
			int64_t start;
			unsigned char info, info2;
			uint8_t block;
			if (sframe_decoder_get_funcdesc_v3(ctx, i, &fres, &length, &start, &info, &info2, &block)) exit(4);
			for (uint32_t j = 0; j < fres; j++) {
				sframe_frame_row_entry fre;
				rows += sframe_decoder_get_fre(ctx, i, j, &fre) == 0;
			}
		});
	}
	printf("%.0f %.3f %.0f %zu %zu\n", open, lookup / n, walk, found, rows);
	return 0;
}
