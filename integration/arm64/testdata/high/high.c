#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "high.h"

#define SIZE (1 << 20)

// Code that is copied: generated(f) calls f(its own return address). It signs its return address and has a frame record.
__asm__(".text\n.balign 16\n.globl generated, generated_end\n.hidden generated, generated_end\ngenerated:\n"
	"mov x9, x0\n"
	"mov x0, x30\n"
	"paciasp\n"
	"stp x29, x30, [sp, #-16]!\n"
	"mov x29, sp\n"
	"blr x9\n"
	"ldp x29, x30, [sp], #16\n"
	"autiasp\n"
	"ret\n"
	"generated_end:\n");
extern char generated[] __attribute__((visibility("hidden"))), generated_end[] __attribute__((visibility("hidden")));

static int record;

static void note(void *address) {
	char line[32];
	int n = snprintf(line, sizeof line, "%p\n", address);
	if (write(record, line, n) != n) exit(8);
}

__attribute__((noinline)) static int trapped(int n) {
	note(__builtin_return_address(0));
	__asm__ volatile("brk #52");
	return n + 1;
}

// Its caller is the code above 48 bits: what its frame holds is that code's address, signed. It gets the return address
// of that code.
__attribute__((noinline)) static int called_from_high(void *generated_returns) {
	note(generated_returns);
	note(__builtin_return_address(0));
	return trapped((int)(uintptr_t)generated_returns) + 1;
}

static void *mapped(uint64_t hint, int prot) {
	void *p = mmap((void *)hint, SIZE, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED || (uintptr_t)p >> 48 == 0) {
		fprintf(stderr, "no addresses above 48 bits\n");
		exit(9);
	}
	return p;
}

static void *high_main(void *code) {
	note(__builtin_return_address(0));
	return (void *)(uintptr_t)(((int (*)(int (*)(void *)))code)(called_from_high) + 1);
}

void high(const char *name) {
	record = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	char *code = mapped(5ull << 48, PROT_READ | PROT_WRITE | PROT_EXEC), *stack = mapped(10ull << 48, PROT_READ | PROT_WRITE);
	memcpy(code, generated, generated_end - generated);
	__builtin___clear_cache(code, code + SIZE);
	pthread_attr_t attributes;
	pthread_t thread;
	if (pthread_attr_init(&attributes) || pthread_attr_setstack(&attributes, stack, SIZE) ||
	    pthread_create(&thread, &attributes, high_main, code) || pthread_join(thread, 0)) exit(8);
}
