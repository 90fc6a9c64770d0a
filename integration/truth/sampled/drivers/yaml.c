// A document scanned and parsed from Go's input, and written to Go.
#include <stdlib.h>
#include <string.h>

typedef int (*back)(int);
extern int yaml_parser_initialize(void *), yaml_parser_parse(void *, void *), yaml_emitter_initialize(void *), yaml_emitter_emit(void *, void *);
extern void yaml_parser_set_input(void *, void *, void *), yaml_emitter_set_output(void *, void *, void *), yaml_parser_delete(void *), yaml_emitter_delete(void *);

static back go;
static const char text[] = "%YAML 1.1\n---\na: &x [1, 'two', \"th\\nree\"]\nb: !!str |\n  lines\n  more\n? - c\n: {d: *x, e: ~}\n...\n";
static size_t at;
static int get(void *u, char *to, size_t room, size_t *n) {
	*n = sizeof text - 1 - at < room ? sizeof text - 1 - at : room;
	memcpy(to, text + at, *n);
	at += *n;
	go(*n);
	return 1;
}
static int put(void *u, char *p, size_t n) { go(n); return 1; }

int run(back b) {
	static char parser[1000], emitter[1000];
	int event[40];
	go = b;
	if (!yaml_parser_initialize(parser) || !yaml_emitter_initialize(emitter))
		return 1;
	yaml_parser_set_input(parser, get, 0);
	yaml_emitter_set_output(emitter, put, 0);
	do {
		if (!yaml_parser_parse(parser, event))
			return 2;
		go(event[0]);
		int kind = event[0];
		yaml_emitter_emit(emitter, event);
		if (kind == 2)
			break;
	} while (1);
	yaml_parser_delete(parser);
	yaml_emitter_delete(emitter);
	return 0;
}
