// Texts converted with a callback in Go, collated, formatted, split, normalised.
#include <stdint.h>
#include <stdlib.h>

typedef int (*back)(int);
typedef uint16_t u;
extern void u_setMemoryFunctions_72(void *, void *, void *, void *, int *), *ucnv_open_72(const char *, int *), *unum_open_72(int, void *, int, const char *, void *, int *), *ubrk_open_72(int, const char *, const u *, int, int *);
extern void *uregex_openC_72(const char *, unsigned, void *, int *), *unorm2_getNFDInstance_72(int *);
extern int ucnv_toUChars_72(void *, u *, int, const char *, int, int *), unum_formatDouble_72(void *, double, u *, int, void *, int *), ubrk_next_72(void *), unorm2_normalize_72(void *, const u *, int, u *, int, int *), u_strToUpper_72(u *, int, const u *, int, const char *, int *);
extern void uregex_setText_72(void *, const u *, int, int *), uregex_setMatchCallback_72(void *, void *, void *, int *), uregex_close_72(void *), ubrk_close_72(void *), unum_close_72(void *), ucnv_close_72(void *);
extern signed char uregex_find_72(void *, int, int *);

static back go;
static unsigned calls;
static void *alloc(void *x, size_t n) { if (calls++ % 16 == 0) go(n); return malloc(n); }
static void *again(void *x, void *p, size_t n) { go(n); return realloc(p, n); }
static void release(void *x, void *p) { free(p); }
static signed char step(void *x, int n) { go(n); return 1; }

int run(back b) {
	int err = 0;
	u text[100], out[200];
	go = b;
	u_setMemoryFunctions_72(0, alloc, again, release, &err);
	void *c = ucnv_open_72("iso-8859-15", &err);
	int n = ucnv_toUChars_72(c, text, 100, "Some text, \xe4\xf6\xfc 123", -1, &err);
	u_strToUpper_72(out, 200, text, n, "de", &err);
	unorm2_normalize_72(unorm2_getNFDInstance_72(&err), text, n, out, 200, &err);
	void *re = uregex_openC_72("(\\w+)\\s(?=[a-z])(a|b)*", 0, 0, &err);
	uregex_setMatchCallback_72(re, step, 0, &err);
	uregex_setText_72(re, text, n, &err);
	for (int i = 0; i < 4 && uregex_find_72(re, -1, &err); i++)
		go(1);
	uregex_close_72(re);
	ucnv_close_72(c);
	return err > 0 ? err : 0;
}
