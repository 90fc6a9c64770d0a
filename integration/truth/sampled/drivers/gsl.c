// An integral, a root and a minimum of functions in Go, a fit, special functions.
#include <math.h>
#include <stdlib.h>

typedef int (*back)(int);
struct function { double (*f)(double, void *); void *u; };
extern void *gsl_integration_workspace_alloc(size_t), *gsl_root_fsolver_alloc(const void *), *gsl_linalg_SV_decomp, *gsl_set_error_handler(void *);
extern int gsl_integration_qags(struct function *, double, double, double, double, size_t, void *, double *, double *);
extern int gsl_root_fsolver_set(void *, struct function *, double, double), gsl_root_fsolver_iterate(void *);
extern int gsl_fit_linear(const double *, size_t, const double *, size_t, size_t, double *, double *, double *, double *, double *, double *);
extern double gsl_sf_bessel_Jnu(double, double), gsl_sf_gamma(double), gsl_sf_zeta(double), gsl_sf_hyperg_2F1(double, double, double, double);
extern void gsl_integration_workspace_free(void *), gsl_root_fsolver_free(void *), gsl_sort(double *, size_t, size_t);
extern void gsl_heapsort(void *, size_t, size_t, void *);
extern const void *gsl_root_fsolver_brent;

static back go;
static double f(double x, void *u) { go(1); return log(x + 1.5) * cos(3 * x) - 0.2; }
static int compare(const void *a, const void *b) { go(2); return (*(double *)a > *(double *)b) - (*(double *)a < *(double *)b); }
static void error(const char *why, const char *file, int line, int number) { go(number); }

int run(back b) {
	double result, e, x[] = {1, 4, 2, 8, 5, 7}, y[] = {2, 1, 4, 3, 6, 5}, c[6];
	struct function in_go = {f};
	go = b;
	gsl_set_error_handler(error);
	void *space = gsl_integration_workspace_alloc(20);
	gsl_integration_qags(&in_go, 0, 2, 1e-6, 1e-6, 20, space, &result, &e);
	gsl_integration_workspace_free(space);
	void *solver = gsl_root_fsolver_alloc(gsl_root_fsolver_brent);
	gsl_root_fsolver_set(solver, &in_go, 0, 0.6);
	for (int i = 0; i < 5; i++)
		gsl_root_fsolver_iterate(solver);
	gsl_root_fsolver_free(solver);
	gsl_fit_linear(x, 1, y, 1, 6, c, c + 1, c + 2, c + 3, c + 4, c + 5);
	gsl_sort(x, 1, 6);
	gsl_heapsort(y, 6, sizeof *y, compare);
	result += gsl_sf_bessel_Jnu(2.5, 7) + gsl_sf_gamma(5.5) + gsl_sf_zeta(3.5) + gsl_sf_hyperg_2F1(0.5, 1.5, 2.5, 0.3) + gsl_sf_gamma(-1);
	return 0;
}
