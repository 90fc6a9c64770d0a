// Glyphs of a font loaded, hinted, rendered, stroked; their outlines go to Go.
#include <stdlib.h>

typedef int (*back)(int);
struct memory { void *u; void *(*alloc)(struct memory *, long); void (*release)(struct memory *, void *); void *(*again)(struct memory *, long, long, void *); };
struct outline { short contours, points; void *p, *t, *c; int flags; };
struct functions { void *move, *line, *conic, *cubic; int shift; long delta; };
extern int FT_New_Library(struct memory *, void **), FT_New_Face(void *, const char *, long, void **), FT_Set_Pixel_Sizes(void *, unsigned, unsigned);
extern int FT_Load_Char(void *, unsigned long, int), FT_Outline_Decompose(struct outline *, struct functions *, void *), FT_Get_Kerning(void *, unsigned, unsigned, unsigned, long *);
extern void FT_Add_Default_Modules(void *);
extern int FT_Done_Face(void *), FT_Done_Library(void *);

static back go;
static unsigned calls;
static void *alloc(struct memory *m, long n) { if (calls++ % 40 == 0) go(n); return malloc(n); }
static void *again(struct memory *m, long old, long n, void *p) { return realloc(p, n); }
static void release(struct memory *m, void *p) { free(p); }
static int point(void *to, void *u) { return go(1) * 0; }
static int conic(void *a, void *to, void *u) { return go(2) * 0; }
static int cubic(void *a, void *b, void *to, void *u) { return go(3) * 0; }

int run(back b) {
	struct memory m = {0, alloc, release, again};
	struct functions f = {point, point, conic, cubic};
	void *library, *face;
	long k[2];
	go = b;
	if (FT_New_Library(&m, &library))
		return 1;
	FT_Add_Default_Modules(library);
	if (FT_New_Face(library, "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", 0, &face))
		return 2;
	FT_Set_Pixel_Sizes(face, 0, 14);
	FT_Load_Char(face, 'i', 4 /* render */);
	FT_Load_Char(face, 'T', 32 << 0 | 4 /* force autohint, render */);
	FT_Load_Char(face, 'o', 1 /* no scale */);
	FT_Outline_Decompose((struct outline *)(*(char **)((char *)face + 152) + 200), &f, 0);
	FT_Get_Kerning(face, 36, 57, 0, k);
	FT_Done_Face(face);
	return FT_Done_Library(library);
}
