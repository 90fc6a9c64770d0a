#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <unistd.h>

#include "faults.h"

#define PROT_BTI 0x10
#define PROT_MTE 0x20

// A page of its own, whose function begins with no landing pad.
__asm__(".text\n.balign 4096\n.type no_pad,%function\nno_pad:\n.cfi_startproc\nnop\nret\n.cfi_endproc\n.size no_pad,.-no_pad\n.balign 4096\n");
extern int no_pad(int);

__attribute__((noinline)) static int call_no_pad(int n) {
	int (*volatile f)(int) = no_pad;
	if (mprotect((void *)no_pad, 4096, PROT_READ | PROT_EXEC | PROT_BTI)) exit(9);
	return f(n) + 1;
}

__attribute__((noinline)) static int call_generated(int n) {
	uint32_t *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC | PROT_BTI, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED) exit(9);
	code[0] = 0x11000400; // add w0, w0, #1: no landing pad
	code[1] = 0xd65f03c0; // ret
	__builtin___clear_cache((char *)code, (char *)(code + 2));
	return ((int (*)(int))code)(n) + 1;
}

__attribute__((noinline)) static int write_tagged(int n) {
	// Addresses may have tags, a fault comes at once, and every tag but 0 is in use.
	if (prctl(PR_SET_TAGGED_ADDR_CTRL, PR_TAGGED_ADDR_ENABLE | PR_MTE_TCF_SYNC | 0xfffeul << PR_MTE_TAG_SHIFT, 0, 0, 0)) exit(9);
	volatile char *memory = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_MTE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) exit(9);
	memory[0] = 1;
	volatile char *tagged = (volatile char *)((uintptr_t)memory | (uintptr_t)3 << 56);
	tagged[0] = n;
	return tagged[0] + 1;
}

__attribute__((noinline)) static int return_forged(int n) {
	__asm__ volatile("paciasp\n\teor x30, x30, #(1 << 50)\n\tautiasp\n\tret" ::: "x30");
	return n;
}

static ucontext_t own, back;
static char room[64 << 10];

static volatile int *volatile nowhere = (int *)8;

__attribute__((noinline)) static void in_context(void) { *nowhere = 1; }

__attribute__((noinline)) static int call_in_context(int n) {
	if (getcontext(&own)) exit(9);
	own.uc_stack.ss_sp = room;
	own.uc_stack.ss_size = sizeof room;
	own.uc_link = &back;
	makecontext(&own, in_context, 0);
	swapcontext(&back, &own);
	return n + 1;
}

static void *abort_main(void *unused) {
	usleep(300 * 1000);
	signal(SIGABRT, SIG_DFL); // not Go's handler: the other threads stay where they are
	abort();
}

// Waits for ever (ppoll) with 1 in x28, where Go has the address of its runtime.g: C may do with it as it likes.
__attribute__((noinline)) static int wait_for_abort(int n) {
	pthread_t thread;
	if (pthread_create(&thread, 0, abort_main, 0)) exit(9);
	__asm__ volatile("mov x28, #1\n0:\tmov x0, #0\n\tmov x1, #0\n\tmov x2, #0\n\tmov x3, #0\n\tmov x4, #0\n\tmov x8, #73\n\tsvc #0\n\tb 0b"
		::: "x0", "x1", "x2", "x3", "x4", "x8", "x28", "memory");
	return n;
}

int fault(int kind, int n) {
	switch (kind) {
	case 'a':
		return wait_for_abort(n) + 1;
	case 'b':
		return call_no_pad(n) + 1;
	case 'c':
		return call_in_context(n) + 1;
	case 'g':
		return call_generated(n) + 1;
	case 'm':
		return write_tagged(n) + 1;
	}
	return return_forged(n) + 1;
}
