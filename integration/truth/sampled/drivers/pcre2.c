// Patterns compiled, matched with a callout in Go, substituted; an allocator in Go.
#include <stdlib.h>
#include <string.h>

typedef int (*back)(int);
extern void *pcre2_general_context_create_8(void *, void *, void *), *pcre2_compile_context_create_8(void *), *pcre2_match_context_create_8(void *);
extern void *pcre2_compile_8(const char *, size_t, unsigned, int *, size_t *, void *), *pcre2_match_data_create_from_pattern_8(void *, void *);
extern int pcre2_match_8(void *, const char *, size_t, size_t, unsigned, void *, void *), pcre2_set_callout_8(void *, void *, void *);
extern int pcre2_substitute_8(void *, const char *, size_t, size_t, unsigned, void *, void *, const char *, size_t, char *, size_t *);
extern int pcre2_dfa_match_8(void *, const char *, size_t, size_t, unsigned, void *, void *, int *, size_t);
extern void pcre2_code_free_8(void *), pcre2_match_data_free_8(void *);

static back go;
static void *alloc(size_t n, void *u) { go(n); return malloc(n); }
static void release(void *p, void *u) { go(1); free(p); }
static int callout(void *block, void *u) { return go(0) * 0; }

int run(back b) {
	static const char *patterns[] = {"(?i)(a+|b*)(?C1)c\\d{2,3}(x|y)*$", "^(?<n>\\w+)\\s(?=\\p{L})(?:(?C2)foo|bar)+?", "(?:(\\()|[^()]|(?R))*\\)"};
	go = b;
	void *general = pcre2_general_context_create_8(alloc, release, 0), *context = pcre2_match_context_create_8(general);
	pcre2_set_callout_8(context, callout, 0);
	for (int i = 0; i < 3; i++) {
		char out[100];
		int error, space[100];
		size_t at, n = sizeof out;
		void *code = pcre2_compile_8(patterns[i], strlen(patterns[i]), 0, &error, &at, pcre2_compile_context_create_8(general));
		if (!code)
			return 1;
		void *data = pcre2_match_data_create_from_pattern_8(code, general);
		pcre2_match_8(code, "zzaaaC123xyxy", 13, 0, 0, data, context);
		pcre2_match_8(code, "word foobar (a(b)c)", 19, 0, 0, data, context);
		pcre2_substitute_8(code, "aac12xy bar)", 12, 0, 0x100, data, context, "<$1>", 4, out, &n);
		pcre2_dfa_match_8(code, "aac12xy", 7, 0, 0, data, context, space, 100);
		pcre2_match_data_free_8(data);
		pcre2_code_free_8(code);
	}
	return 0;
}
