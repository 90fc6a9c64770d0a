// Digests, ciphers, a key with its generation told to Go, an allocator in Go, a private
// key's text.
#include <stdlib.h>
#include <string.h>

typedef int (*back)(int);
extern void *EVP_MD_CTX_new(void), *EVP_CIPHER_CTX_new(void), *EVP_PKEY_CTX_new_id(int, void *), *BIO_new(void *), *BIO_s_mem(void);
extern const void *EVP_get_digestbyname(const char *), *EVP_get_cipherbyname(const char *);
extern int EVP_DigestInit_ex(void *, const void *, void *), EVP_DigestUpdate(void *, const void *, size_t), EVP_DigestFinal_ex(void *, void *, unsigned *);
extern int EVP_CipherInit_ex(void *, const void *, void *, const void *, const void *, int), EVP_CipherUpdate(void *, void *, int *, const void *, int), EVP_CipherFinal_ex(void *, void *, int *);
extern int EVP_PKEY_keygen_init(void *), EVP_PKEY_keygen(void *, void **), PEM_write_bio_PrivateKey(void *, void *, void *, void *, int, void *, void *);
extern int CRYPTO_set_mem_functions(void *, void *, void *);
extern void EVP_PKEY_free(void *), EVP_MD_CTX_free(void *), EVP_CIPHER_CTX_free(void *);

static back go;
static unsigned calls;
static void *alloc(size_t n, const char *file, int line) { if (calls++ % 200 == 0) go(n); return malloc(n); }
static void *again(void *p, size_t n, const char *file, int line) { go(n); return realloc(p, n); }
static void release(void *p, const char *file, int line) { free(p); }
static int password(char *to, int n, int rw, void *u) { go(n); return strlen(strcpy(to, "secret")); }

int run(back b) {
	static const char *digests[] = {"MD5", "SHA1", "SHA256", "SHA512", "SHA3-256", "BLAKE2b512"}, *ciphers[] = {"AES-128-CBC", "AES-256-GCM", "ChaCha20", "CAMELLIA-128-CBC", "DES-EDE3-CBC"};
	unsigned char in[200] = "text", out[400], iv[64] = {1};
	unsigned n;
	go = b;
	if (!CRYPTO_set_mem_functions(alloc, again, release))
		return 1;
	for (int i = 0; i < 6; i++) {
		void *c = EVP_MD_CTX_new();
		if (EVP_DigestInit_ex(c, EVP_get_digestbyname(digests[i]), 0))
			EVP_DigestUpdate(c, in, sizeof in), EVP_DigestFinal_ex(c, out, &n);
		EVP_MD_CTX_free(c);
	}
	for (int i = 0, m; i < 5; i++) {
		void *c = EVP_CIPHER_CTX_new();
		if (EVP_CipherInit_ex(c, EVP_get_cipherbyname(ciphers[i]), 0, in, iv, 1))
			EVP_CipherUpdate(c, out, &m, in, sizeof in), EVP_CipherFinal_ex(c, out, &m);
		EVP_CIPHER_CTX_free(c);
	}
	void *key = 0, *c = EVP_PKEY_CTX_new_id(1087 /* ED25519 */, 0), *text = BIO_new(BIO_s_mem());
	if (EVP_PKEY_keygen_init(c) < 1 || EVP_PKEY_keygen(c, &key) < 1)
		return 2;
	PEM_write_bio_PrivateKey(text, key, 0, 0, 0, 0, 0);
	EVP_PKEY_free(key);
	return 0;
}
