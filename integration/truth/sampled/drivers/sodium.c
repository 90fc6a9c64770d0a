// Hand-written assembly without tables (salsa20, curve25519), vectors, and random numbers that Go makes.
#include <stddef.h>
#include <string.h>

typedef int (*back)(int);
typedef unsigned char byte;
struct random {
	const char *(*name)(void);
	unsigned (*random)(void);
	void (*stir)(void);
	unsigned (*uniform)(unsigned);
	void (*fill)(void *, size_t);
	int (*close)(void);
};
extern int randombytes_set_implementation(struct random *), sodium_init(void);
extern int crypto_stream_salsa20_xor(byte *, const byte *, unsigned long long, const byte *, const byte *);
extern int crypto_stream_chacha20_xor(byte *, const byte *, unsigned long long, const byte *, const byte *);
extern int crypto_scalarmult(byte *, const byte *, const byte *), crypto_scalarmult_base(byte *, const byte *);
extern int crypto_box_keypair(byte *, byte *), crypto_box_easy(byte *, const byte *, unsigned long long, const byte *, const byte *, const byte *);
extern int crypto_box_open_easy(byte *, const byte *, unsigned long long, const byte *, const byte *, const byte *);
extern int crypto_sign_keypair(byte *, byte *), crypto_sign_detached(byte *, unsigned long long *, const byte *, unsigned long long, const byte *);
extern int crypto_sign_verify_detached(const byte *, const byte *, unsigned long long, const byte *);
extern int crypto_generichash(byte *, size_t, const byte *, unsigned long long, const byte *, size_t);

static back go;
static unsigned state = 17;
static const char *name(void) { return "counter"; }
static unsigned number(void) { return state = state * 1664525 + 1013904223 + go(state & 3); }
static void fill(void *to, size_t n) {
	for (size_t i = 0; i < n; i++)
		((byte *)to)[i] = number() >> 24;
}

int run(back b) {
	static struct random own = {name, number, NULL, NULL, fill, NULL};
	static byte text[1100], out[1200], again[1200], key[32] = "salsa", nonce[24] = "once", pk[32], sk[64], other[32], osk[32], sig[64];
	go = b;
	if (randombytes_set_implementation(&own) || sodium_init() < 0)
		return 1;
	memset(text, 'x', sizeof text);
	for (int n = 1; n < sizeof text; n = n * 3 + 7) {
		go(n);
		crypto_stream_salsa20_xor(out, text, n, nonce, key);
		crypto_stream_chacha20_xor(again, out, n, nonce, key);
		crypto_generichash(out, 32, text, n, key, 32);
	}
	crypto_box_keypair(pk, sk);
	crypto_box_keypair(other, osk);
	crypto_box_easy(out, text, 300, nonce, other, sk);
	if (crypto_box_open_easy(again, out, 316, nonce, pk, osk) || memcmp(again, text, 300))
		return 2;
	crypto_scalarmult_base(out, sk);
	crypto_sign_keypair(pk, sk);
	crypto_sign_detached(sig, NULL, text, 100, sk);
	return crypto_sign_verify_detached(sig, text, 100, pk);
}
