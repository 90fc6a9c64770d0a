// Texts parsed, visited by Go, sorted by Go, written.
#include <stdlib.h>
#include <string.h>

typedef int (*back)(int);
extern void *json_tokener_parse(const char *), *json_object_object_get(void *, const char *);
extern const char *json_object_to_json_string_ext(void *, int);
extern int json_c_visit(void *, int, void *, void *), json_pointer_get(void *, const char *, void **), json_object_put(void *), json_object_deep_copy(void *, void **, void *);
extern void json_object_array_sort(void *, void *);

static back go;
static int visit(void *o, int flags, void *parent, const char *key, size_t *index, void *u) { return go(flags) * 0; }
static int compare(const void *a, const void *b) { return go(1) * 0; }

int run(back b) {
	static const char *texts[] = {"{\"a\": [3, 1.5, true, null, \"\\u00e4\\n\"], \"b\": {\"c\": -7e2}}", "[1, {\"x\":", "/* c */ [0x1]"};
	void *found, *copy = 0;
	go = b;
	for (int i = 0; i < 3; i++) {
		void *o = json_tokener_parse(texts[i]);
		if (!o)
			continue;
		json_c_visit(o, 0, visit, 0);
		if (!json_pointer_get(o, "/a", &found))
			json_object_array_sort(found, compare);
		json_object_deep_copy(o, &copy, 0);
		go(strlen(json_object_to_json_string_ext(o, 2)));
		json_object_put(o);
	}
	return 0;
}
