// Numbers of a few hundred digits with an allocator in Go: products, roots, primes, text.
#include <stdlib.h>
#include <string.h>

typedef int (*back)(int);
typedef struct { int room, size; void *limbs; } number;
extern void __gmp_set_memory_functions(void *, void *, void *), __gmpz_init(number *), __gmpz_clear(number *);
extern int __gmpz_set_str(number *, const char *, int), __gmpz_probab_prime_p(number *, int), __gmp_snprintf(char *, size_t, const char *, ...);
extern void __gmpz_mul(number *, number *, number *), __gmpz_powm(number *, number *, number *, number *), __gmpz_sqrt(number *, number *);
extern void __gmpz_fac_ui(number *, unsigned long), __gmpz_gcd(number *, number *, number *), __gmpz_tdiv_qr(number *, number *, number *, number *);

static back go;
static void *alloc(size_t n) { go(n); return malloc(n); }
static void *again(void *p, size_t old, size_t n) { go(n); return realloc(p, n); }
static void release(void *p, size_t n) { go(n); free(p); }

int run(back b) {
	char text[900];
	number x, y, z, q;
	go = b;
	__gmp_set_memory_functions(alloc, again, release);
	__gmpz_init(&x), __gmpz_init(&y), __gmpz_init(&z), __gmpz_init(&q);
	__gmpz_fac_ui(&x, 150);
	__gmpz_set_str(&y, "123456789012345678901234567890123456789012345678901234567890123456789", 10);
	__gmpz_mul(&z, &x, &y);
	__gmpz_mul(&z, &z, &z);
	__gmpz_sqrt(&q, &z);
	__gmpz_gcd(&z, &x, &y);
	__gmpz_tdiv_qr(&z, &q, &x, &y);
	__gmpz_powm(&z, &q, &q, &y);
	__gmpz_probab_prime_p(&y, 3);
	__gmp_snprintf(text, sizeof text, "%Zd %Zx", &x, &y);
	__gmpz_clear(&x), __gmpz_clear(&y), __gmpz_clear(&z), __gmpz_clear(&q);
	return strlen(text) < 200;
}
