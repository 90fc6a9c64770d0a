// A picture that is parsed and drawn: Rust above C's libraries, with shapes, a gradient, a clip and a style.
#include <stddef.h>
#include <string.h>

typedef int (*back)(int);
struct rectangle { double x, y, width, height; };
extern void *rsvg_handle_new_from_data(const char *, size_t, void **), *cairo_image_surface_create(int, int, int), *cairo_create(void *);
extern int rsvg_handle_render_document(void *, void *, struct rectangle *, void **);
extern void cairo_destroy(void *), cairo_surface_destroy(void *), g_object_unref(void *);

static const char picture[] =
	"<svg xmlns='http://www.w3.org/2000/svg' width='40' height='40'><style>.a{fill:#3a7;stroke:red}</style>"
	"<defs><linearGradient id='g'><stop offset='0' stop-color='blue'/><stop offset='1' stop-color='#fff'/></linearGradient>"
	"<clipPath id='c'><circle cx='20' cy='20' r='15'/></clipPath></defs>"
	"<rect class='a' x='2' y='2' width='20' height='30' rx='4'/><g clip-path='url(#c)' transform='rotate(20)'>"
	"<path d='M3 3 L30 8 C 30 30 10 30 5 20 Z' fill='url(#g)' opacity='.7'/></g></svg>";

int run(back b) {
	struct rectangle whole = {0, 0, 40, 40};
	void *handle = rsvg_handle_new_from_data(picture, strlen(picture), NULL);
	b(1);
	if (!handle)
		return 1;
	void *surface = cairo_image_surface_create(0, 40, 40), *context = cairo_create(surface);
	int drawn = rsvg_handle_render_document(handle, context, &whole, NULL);
	b(2);
	cairo_destroy(context);
	cairo_surface_destroy(surface);
	g_object_unref(handle);
	return !drawn;
}
