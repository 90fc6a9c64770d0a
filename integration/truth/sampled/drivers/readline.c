// A history expanded, words completed by Go, keys bound to Go.
#include <stdlib.h>
#include <string.h>

typedef int (*back)(int);
extern void using_history(void), add_history(const char *);
extern int history_expand(char *, char **), rl_parse_and_bind(char *), rl_add_defun(const char *, void *, int), history_search(const char *, int), rl_initialize(void);
extern char **rl_completion_matches(const char *, void *), *tilde_expand(const char *);
extern int rl_insert_text(const char *), rl_forward_word(int, int), rl_backward_kill_word(int, int), rl_transpose_words(int, int), rl_yank(int, int);
extern int rl_point;

static back go;
static char *word(const char *text, int state) { return go(state) > 4 ? 0 : strdup(state % 2 ? "completion" : "complete"); }
static int key(int n, int c) { return go(n) * 0; }

int run(back b) {
	char *out, line[] = "!!:s/one/two/ and !?thr?:1-$", binding[] = "\"\\C-xg\": in-go", set[] = "set editing-mode vi";
	go = b;
	using_history();
	add_history("first one");
	add_history("second two three");
	if (history_expand(line, &out) < 0)
		free(out);
	history_search("first", -1);
	rl_add_defun("in-go", key, -1);
	rl_initialize();
	rl_parse_and_bind(binding);
	rl_parse_and_bind(set);
	char **list = rl_completion_matches("comp", word);
	for (int i = 0; list && list[i]; i++)
		free(list[i]);
	rl_insert_text("some words to edit");
	rl_point = 5;
	rl_forward_word(1, 0);
	rl_transpose_words(1, 0);
	rl_backward_kill_word(1, 0);
	rl_yank(1, 0);
	free(tilde_expand("~/file"));
	return 0;
}
