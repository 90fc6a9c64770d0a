// An image compressed and decompressed, with errors and an output that call Go.
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jpeglib.h>

typedef int (*back)(int);
static back go;
static void quiet(j_common_ptr c, int level) { go(level); }
static void monitor(j_common_ptr c) { go(c->progress->pass_counter); }

int run(back b) {
	unsigned char pixels[16 * 3], *row = pixels, *file = 0;
	unsigned long size = 0;
	struct jpeg_error_mgr errors;
	struct jpeg_progress_mgr progress = {monitor};
	struct jpeg_compress_struct c = {.err = jpeg_std_error(&errors)};
	struct jpeg_decompress_struct d = {.err = &errors};
	go = b;
	errors.emit_message = quiet;
	jpeg_create_compress(&c);
	jpeg_mem_dest(&c, &file, &size);
	c.image_width = c.image_height = 16;
	c.input_components = 3;
	c.in_color_space = JCS_RGB;
	c.progress = &progress;
	jpeg_set_defaults(&c);
	c.optimize_coding = 1;
	jpeg_start_compress(&c, 1);
	while (c.next_scanline < 16) {
		for (int x = 0; x < sizeof pixels; x++)
			pixels[x] = x * c.next_scanline;
		jpeg_write_scanlines(&c, &row, 1);
	}
	jpeg_finish_compress(&c);
	jpeg_destroy_compress(&c);
	jpeg_create_decompress(&d);
	jpeg_mem_src(&d, file, size);
	d.progress = &progress;
	jpeg_read_header(&d, 1);
	jpeg_start_decompress(&d);
	while (d.output_scanline < 16)
		jpeg_read_scanlines(&d, &row, 1);
	jpeg_finish_decompress(&d);
	jpeg_destroy_decompress(&d);
	free(file);
	return 0;
}
