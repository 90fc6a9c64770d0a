// A database in a temporary folder with an order and a filter in Go.
#include <stdlib.h>
#include <string.h>

typedef int (*back)(int);
typedef void *p;
extern p leveldb_options_create(void), leveldb_comparator_create(p, p, p, p), leveldb_open(p, const char *, char **), leveldb_writeoptions_create(void), leveldb_readoptions_create(void), leveldb_create_iterator(p, p), leveldb_writebatch_create(void);
extern void leveldb_options_set_comparator(p, p), leveldb_options_set_create_if_missing(p, unsigned char), leveldb_put(p, p, const char *, size_t, const char *, size_t, char **), leveldb_iter_seek_to_first(p), leveldb_iter_next(p), leveldb_iter_destroy(p), leveldb_close(p), leveldb_destroy_db(p, const char *, char **);
extern void leveldb_writebatch_put(p, const char *, size_t, const char *, size_t), leveldb_writebatch_iterate(p, p, p, p), leveldb_write(p, p, p, char **);
extern char *leveldb_get(p, p, const char *, size_t, size_t *, char **);
extern unsigned char leveldb_iter_valid(p);

static back go;
static void done(void *u) { go(0); }
static int compare(void *u, const char *a, size_t n, const char *b, size_t m) { go(n); int c = memcmp(a, b, n < m ? n : m); return c ? c : (int)n - (int)m; }
static const char *name(void *u) { return "in-go"; }
static void put(void *u, const char *k, size_t n, const char *v, size_t m) { go(n); }

int run(back b) {
	char folder[] = "/tmp/leveldb-XXXXXX", *err = 0, key[] = "key0";
	size_t n;
	go = b;
	p o = leveldb_options_create(), w = leveldb_writeoptions_create(), r = leveldb_readoptions_create(), batch = leveldb_writebatch_create();
	leveldb_options_set_comparator(o, leveldb_comparator_create(0, done, compare, name));
	leveldb_options_set_create_if_missing(o, 1);
	p db = leveldb_open(o, mkdtemp(folder), &err);
	if (err)
		return 1;
	for (int i = 0; i < 5; i++, key[3]++) {
		leveldb_put(db, w, key, 4, "value", 5, &err);
		leveldb_writebatch_put(batch, key, 3, "v", 1);
	}
	leveldb_writebatch_iterate(batch, 0, put, put);
	leveldb_write(db, w, batch, &err);
	free(leveldb_get(db, r, "key2", 4, &n, &err));
	p i = leveldb_create_iterator(db, r);
	for (leveldb_iter_seek_to_first(i); leveldb_iter_valid(i); leveldb_iter_next(i))
		go(1);
	leveldb_iter_destroy(i);
	leveldb_close(db);
	leveldb_destroy_db(o, folder, &err);
	return 0;
}
