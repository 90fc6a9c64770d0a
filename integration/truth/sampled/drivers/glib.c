// Hashes, trees, lists, expressions, markup, variants and a main loop, with functions in Go.
#include <stdlib.h>
#include <string.h>

typedef int (*back)(int);
extern void *g_hash_table_new(void *, void *), *g_tree_new(void *), *g_list_prepend(void *, void *), *g_list_sort(void *, void *), *g_regex_new(const char *, int, int, void *), *g_main_loop_new(void *, int);
extern void g_hash_table_insert(void *, void *, void *), g_hash_table_foreach(void *, void *, void *), g_hash_table_unref(void *), g_tree_insert(void *, void *, void *), g_tree_foreach(void *, void *, void *), g_list_free(void *), g_regex_unref(void *);
extern char *g_regex_replace_eval(void *, const char *, long, int, int, void *, void *, void *), *g_strdup_printf(const char *, ...), *g_utf8_normalize(const char *, long, int), *g_variant_print(void *, int);
extern unsigned g_idle_add(void *, void *), g_str_hash(void *);
extern void g_main_loop_run(void *), g_main_loop_quit(void *), g_free(void *), *g_variant_new(const char *, ...);
extern void *g_markup_parse_context_new(void *, int, void *, void *);
extern int g_markup_parse_context_parse(void *, const char *, long, void *);

static back go;
static void *loop;
static unsigned hash(void *p) { return go(1) + *(char *)p; }
static int equal(const char *a, const char *b) { go(2); return !strcmp(a, b); }
static int compare(const char *a, const char *b) { go(3); return strcmp(a, b); }
static void each(void *k, void *v, void *u) { go(4); }
static int eachNode(void *k, void *v, void *u) { return go(5) * 0; }
static int eval(void *match, void *to, void *u) { return go(6) * 0; }
static int idle(void *u) { g_main_loop_quit(loop); return go(7) * 0; }
static void element(void *c, const char *name, const char **n, const char **v, void *u, void *e) { go(8); }

int run(back b) {
	static char *words[] = {"pear", "apple", "fig", "plum"};
	void *h = g_hash_table_new(hash, equal), *tree = g_tree_new(compare), *list = 0;
	void *parser[5] = {element};
	go = b;
	for (int i = 0; i < 4; i++) {
		g_hash_table_insert(h, words[i], words[i]);
		g_tree_insert(tree, words[i], words[i]);
		list = g_list_prepend(list, words[i]);
	}
	g_hash_table_foreach(h, each, 0);
	g_tree_foreach(tree, eachNode, 0);
	g_list_free(g_list_sort(list, compare));
	g_hash_table_unref(h);
	void *re = g_regex_new("p(l|e)+", 0, 0, 0);
	g_free(g_regex_replace_eval(re, "apple plum", -1, 0, 0, eval, 0, 0));
	g_regex_unref(re);
	g_free(g_strdup_printf("%s %5.2f", words[0], 1.5));
	g_free(g_utf8_normalize("a\xcc\x88", -1, 1));
	g_free(g_variant_print(g_variant_new("(is)", 1, "x"), 1));
	g_markup_parse_context_parse(g_markup_parse_context_new(parser, 0, 0, 0), "<a b='c'><d/></a>", -1, 0);
	g_idle_add(idle, 0);
	g_main_loop_run(loop = g_main_loop_new(0, 0));
	return 0;
}
