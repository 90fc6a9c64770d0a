// Text shaped with a font's tables and metrics, with functions in Go.
#include <stdlib.h>

typedef int (*back)(int);
extern void *hb_blob_create_from_file(const char *), *hb_face_create(void *, unsigned), *hb_font_create(void *), *hb_font_create_sub_font(void *), *hb_buffer_create(void), *hb_font_funcs_create(void);
extern void hb_font_funcs_set_glyph_h_advance_func(void *, void *, void *, void *), hb_font_set_funcs(void *, void *, void *, void *), hb_buffer_add_utf8(void *, const char *, int, unsigned, int);
extern void hb_buffer_guess_segment_properties(void *), hb_shape(void *, void *, void *, unsigned), hb_buffer_destroy(void *), hb_font_destroy(void *), hb_face_destroy(void *), hb_blob_destroy(void *);
extern void hb_buffer_set_message_func(void *, void *, void *, void *);

static back go;
static int advance(void *font, void *u, unsigned glyph, void *v) { return go(glyph); }
static int message(void *buffer, void *font, const char *text, void *u) { go(1); return 1; }

int run(back b) {
	static const char *texts[] = {"office AV", "\xd8\xa7\xd9\x84\xd8\xb3\xd9\x84", "\xe0\xa4\x95\xe0\xa5\x8d\xe0\xa4\xb7"};
	go = b;
	void *blob = hb_blob_create_from_file("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"), *face = hb_face_create(blob, 0);
	void *font = hb_font_create_sub_font(hb_font_create(face)), *f = hb_font_funcs_create();
	hb_font_funcs_set_glyph_h_advance_func(f, advance, 0, 0);
	hb_font_set_funcs(font, f, 0, 0);
	for (int i = 0; i < 3; i++) {
		void *buffer = hb_buffer_create();
		hb_buffer_set_message_func(buffer, message, 0, 0);
		hb_buffer_add_utf8(buffer, texts[i], -1, 0, -1);
		hb_buffer_guess_segment_properties(buffer);
		hb_shape(font, buffer, 0, 0);
		hb_buffer_destroy(buffer);
	}
	hb_font_destroy(font);
	hb_face_destroy(face);
	hb_blob_destroy(blob);
	return 0;
}
