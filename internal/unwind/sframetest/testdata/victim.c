/* victim FILE: reads sections with libsframe, each in a process of its own, and
   says for each in a line how that ended: "ok", "refused", or the signal that
   killed it. FILE has the sections one behind the other, each behind its size
   (4 bytes). Every row is read, and every function looked up at three places. */
#define _GNU_SOURCE
#include <sframe-api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int reads(const char *section, size_t size) {
	int err;
	sframe_decoder_ctx *ctx = sframe_decode(section, size, &err);
	if (!ctx) return 1;
	for (unsigned i = 0; i < sframe_decoder_get_num_fidx(ctx); i++) {
		uint32_t fres, length;
		int64_t start;
		unsigned char info, info2;
		uint8_t block;
		sframe_frame_row_entry fre;
		if (sframe_decoder_get_funcdesc_v3(ctx, i, &fres, &length, &start, &info, &info2, &block)) continue;
		for (uint32_t j = 0; j < fres; j++)
			if (sframe_decoder_get_fre(ctx, i, j, &fre)) break;
		sframe_find_fre(ctx, start, &fre);
		sframe_find_fre(ctx, start + length / 2, &fre);
		sframe_find_fre(ctx, start + length - 1, &fre);
	}
	sframe_decoder_free(&ctx);
	return 0;
}

int main(int argc, char **argv) {
	FILE *f = argc == 2 ? fopen(argv[1], "rb") : 0;
	uint32_t size;
	if (!f) return 2;
	while (fread(&size, 4, 1, f) == 1) {
		char *section = malloc(size);
		int status;
		if (!section || fread(section, 1, size, f) != size) return 2;
		fflush(stdout);
		pid_t child = fork();
		if (child == 0) {
			struct rlimit none = {0, 0}, time = {10, 10}, space = {1 << 30, 1 << 30};
			setrlimit(RLIMIT_CORE, &none);
			setrlimit(RLIMIT_CPU, &time);
			setrlimit(RLIMIT_AS, &space);
			if (!freopen("/dev/null", "w", stderr)) _exit(2);
			_exit(reads(section, size));
		}
		if (child < 0 || waitpid(child, &status, 0) != child) return 2;
		if (WIFSIGNALED(status)) printf("%s\n", strsignal(WTERMSIG(status)));
		else puts(WEXITSTATUS(status) ? "refused" : "ok");
		free(section);
	}
	return 0;
}
