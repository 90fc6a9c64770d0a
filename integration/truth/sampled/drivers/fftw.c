// Transforms planned and executed, the plan written to Go.
#include <stdlib.h>

typedef int (*back)(int);
extern void *fftw_plan_dft_1d(int, void *, void *, int, unsigned), *fftw_plan_r2r_2d(int, int, double *, double *, int, int, unsigned);
extern void fftw_execute(void *), fftw_destroy_plan(void *), fftw_export_wisdom(void *, void *);
extern char *fftw_sprint_plan(void *);

static back go;
static unsigned calls;
static void put(char c, void *u) { if (calls++ % 50 == 0) go(c); }

int run(back b) {
	static double in[400], out[400];
	static const int sizes[] = {12, 31, 64};
	go = b;
	for (int i = 0; i < 3; i++) {
		void *p = fftw_plan_dft_1d(sizes[i], in, out, -1, 64);
		go(sizes[i]);
		fftw_execute(p);
		free(fftw_sprint_plan(p));
		fftw_destroy_plan(p);
	}
	void *p = fftw_plan_r2r_2d(6, 5, in, out, 3, 5, 64);
	fftw_execute(p);
	fftw_destroy_plan(p);
	fftw_export_wisdom(put, 0);
	return 0;
}
