// Texts read from Go and written to Go, with an allocator in Go.
#include <stdlib.h>
#include <string.h>

typedef int (*back)(int);
extern void json_set_alloc_funcs(void *, void *);
extern void *json_load_callback(void *, void *, size_t, void *), *json_pack(const char *, ...);
extern int json_dump_callback(void *, void *, void *, size_t);
extern void json_delete(void *);

static back go;
static const char *text;
static void *alloc(size_t n) { go(n); return malloc(n); }
static size_t get(char *to, size_t room, void *u) {
	size_t n = strlen(text) < 9 ? strlen(text) : 9;
	go(n);
	memcpy(to, text, n);
	text += n;
	return n;
}
static int put(const char *p, size_t n, void *u) { return go(n) * 0; }

int run(back b) {
	static const char *texts[] = {"{\"a\": [1, 2.5e3, true, null, \"\\u00e4\\n\"], \"b\": {\"c\": -7}}", "[1, 2", "{\"a\": \"\\ud800\"}"};
	char error[400];
	go = b;
	json_set_alloc_funcs(alloc, free);
	for (int i = 0; i < 3; i++) {
		text = texts[i];
		void *v = json_load_callback(get, 0, 0, error);
		json_dump_callback(v, put, 0, 0x82);
		if (v)
			json_delete(v);
	}
	json_dump_callback(json_pack("{s:[i,f,b],s:o}", "x", 1, 2.5, 1, "y", json_pack("s", "z")), put, 0, 4);
	return 0;
}
