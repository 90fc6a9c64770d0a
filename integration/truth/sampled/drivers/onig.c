// Expressions compiled and searched for, their names and callouts in Go.
#include <stdlib.h>
#include <string.h>

typedef int (*back)(int);
extern int onig_initialize(void **, int), onig_new(void **, const char *, const char *, unsigned, void *, void *, void *), onig_search(void *, const char *, const char *, const char *, const char *, void *, unsigned);
extern int onig_foreach_name(void *, void *, void *), onig_scan(void *, const char *, const char *, void *, unsigned, void *, void *), onig_set_progress_callout(void *);
extern void *onig_region_new(void), onig_free(void *), onig_region_free(void *, int);
extern char OnigEncodingUTF8[], OnigSyntaxRuby[];

static back go;
static int each(const char *n, const char *end, int count, int *list, void *re, void *u) { return go(count) * 0; }
static int found(int n, int at, void *region, void *u) { return go(at) * 0; }
static int callout(void *args, void *u) { return go(1) * 0; }

int run(back b) {
	static const char *patterns[] = {"(?<n>a+|b*)c\\d{2,3}(x|y)*", "\\p{Alpha}+(?=\\s)", "(?<p>\\((?:[^()]|\\g<p>)*\\))"}, text[] = "zzaaac123xyxy w\xc3\xb6rd (a(b)c)";
	void *utf8 = OnigEncodingUTF8, *re;
	char why[100];
	go = b;
	onig_initialize(&utf8, 1);
	onig_set_progress_callout(callout);
	for (int i = 0; i < 3; i++) {
		if (onig_new(&re, patterns[i], patterns[i] + strlen(patterns[i]), 0, utf8, OnigSyntaxRuby, why))
			return 1;
		void *region = onig_region_new();
		onig_search(re, text, text + sizeof text - 1, text, text + sizeof text - 1, region, 0);
		onig_scan(re, text, text + sizeof text - 1, region, 0, found, 0);
		onig_foreach_name(re, each, 0);
		onig_region_free(region, 1);
		onig_free(re);
	}
	return 0;
}
