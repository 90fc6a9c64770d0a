// Archives of three formats written to Go and read from there.
#include <stdlib.h>
#include <string.h>

typedef int (*back)(int);
typedef void *a;
extern a archive_write_new(void), archive_entry_new(void), archive_read_new(void);
extern int archive_write_set_format(a, int), archive_write_add_filter_gzip(a), archive_write_open(a, void *, void *, void *, void *), archive_write_header(a, a), archive_write_free(a);
extern int archive_read_support_format_all(a), archive_read_support_filter_gzip(a), archive_read_open(a, void *, void *, void *, void *), archive_read_next_header(a, a *), archive_read_data_skip(a), archive_read_free(a);
extern long archive_write_data(a, const void *, size_t);
extern void archive_entry_set_pathname(a, const char *), archive_entry_set_size(a, long), archive_entry_set_filetype(a, unsigned), archive_entry_set_perm(a, unsigned), archive_entry_free(a);
extern int archive_write_set_bytes_per_block(a, int);

static back go;
static char file[40000];
static size_t size, at;
static long put(a x, void *u, const void *p, size_t n) { go(n); memcpy(file + size, p, n); size += n; return n; }
static long get(a x, void *u, const void **p) { go(1); *p = file; size_t n = at ? 0 : size; at = 1; return n; }
static int done(a x, void *u) { return go(0) * 0; }

int run(back b) {
	static const int formats[] = {0x30001, 0x10000, 0x50000};
	go = b;
	for (int i = 0; i < 3; i++) {
		size = at = 0;
		a w = archive_write_new(), e = archive_entry_new(), next;
		archive_write_set_format(w, formats[i]);
		archive_write_set_bytes_per_block(w, 512);
		archive_write_open(w, 0, done, put, done);
		archive_entry_set_pathname(e, "folder/file");
		archive_entry_set_size(e, 5);
		archive_entry_set_filetype(e, 0100000);
		archive_entry_set_perm(e, 0644);
		archive_write_header(w, e);
		archive_write_data(w, "12345", 5);
		archive_entry_free(e);
		archive_write_free(w);
		a r = archive_read_new();
		archive_read_support_format_all(r);
		archive_read_support_filter_gzip(r);
		if (archive_read_open(r, 0, done, get, done))
			return 1;
		while (!archive_read_next_header(r, &next))
			archive_read_data_skip(r);
		archive_read_free(r);
	}
	return 0;
}
