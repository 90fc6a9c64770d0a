// A file transferred, its data, header and progress passed to Go; addresses taken apart.
#include <stdlib.h>

typedef int (*back)(int);
extern void *curl_easy_init(void), *curl_url(void), *curl_mime_init(void *);
extern int curl_global_init(long), curl_easy_setopt(void *, int, ...), curl_easy_perform(void *), curl_url_set(void *, int, const char *, unsigned), curl_url_get(void *, int, char **, unsigned);
extern char *curl_easy_escape(void *, const char *, int);
extern void curl_easy_cleanup(void *), curl_url_cleanup(void *), curl_free(void *);
extern long curl_getdate(const char *, const long *);

static back go;
static size_t put(char *p, size_t size, size_t n, void *u) { go(n); return size * n; }
static int progress(void *u, long a, long b, long c, long d) { return go(1) * 0; }
static int debug(void *c, int kind, char *p, size_t n, void *u) { return go(kind) * 0; }

int run(back b) {
	char *part;
	go = b;
	curl_global_init(0);
	void *c = curl_easy_init();
	curl_easy_setopt(c, 10002, "file:///etc/hostname");
	curl_easy_setopt(c, 20011, put);
	curl_easy_setopt(c, 20079, put);
	curl_easy_setopt(c, 20219, progress);
	curl_easy_setopt(c, 43, 0L);
	curl_easy_setopt(c, 20094, debug);
	curl_easy_setopt(c, 41, 1L);
	int err = curl_easy_perform(c);
	curl_easy_setopt(c, 10002, "http://127.0.0.1:1/x?y#z");
	curl_easy_perform(c);
	curl_free(curl_easy_escape(c, "a b/c", 0));
	void *u = curl_url();
	curl_url_set(u, 0, "https://user:word@example.com:8080/a/../b?q=1#f", 0);
	if (!curl_url_get(u, 0, &part, 0))
		curl_free(part);
	curl_getdate("Sun, 22 Nov 2026 10:00:00 GMT", 0);
	curl_url_cleanup(u);
	curl_easy_cleanup(c);
	return err;
}
