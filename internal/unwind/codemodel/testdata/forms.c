// Code whose flow is not obvious: switches in many forms, calls that never return, tail
// calls, frames of a size that is known at run time only.
#include <alloca.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

extern int sink(int);
extern void fill(char *, int);
struct node { unsigned char kind, more; struct node *left; };

NOINLINE static void die(int n) { sink(n); abort(); }
NOINLINE static void fail(int n) { if (n) die(n); for (;;) sink(n); }

NOINLINE int dense(int n) {
	switch (n) {
	case 0: return sink(1) * 3;
	case 1: return sink(7) + n;
	case 2: return sink(n) - sink(4);
	case 3: return sink(2) / 3;
	case 4: return sink(5) ^ sink(8);
	case 5: die(n);
	case 6: return sink(3) + sink(n + 1);
	}
	return sink(n) + 9;
}

NOINLINE int byMemory(struct node *p) {
	char room[64];
	fill(room, p->more);
	switch (p->kind) {
	case 0: return sink(room[0]) * 3;
	case 1: return sink(room[1]) + 1;
	case 2: return sink(room[2]) - 4;
	case 3: fail(3);
	case 4: return sink(room[4]) ^ sink(8);
	case 5: return sink(room[5]) + sink(6);
	}
	return sink(room[7]) + byMemory(p->left);
}

NOINLINE int masked(unsigned n, int m) {
	switch (n & 7) {
	case 0: m += sink(m + 1); break;
	case 1: m -= sink(m + 2); break;
	case 2: m *= sink(m + 3); break;
	case 3: m ^= sink(m + 4); break;
	case 4: m |= sink(m + 5); break;
	case 5: m &= sink(m + 6); break;
	case 6: m = sink(m + 7); break;
	case 7: m /= sink(m + 8); break;
	}
	return sink(m) + m;
}

NOINLINE int inALoop(const unsigned char *s, long n, int m) {
	for (long i = 0; i < n; i++)
		switch (s[i]) {
		case 'a': m += sink(m + 1); break;
		case 'b': m -= sink(m + 2); break;
		case 'c': m *= sink(m + 3); break;
		case 'd': m ^= sink(m + 4); break;
		case 'e': m |= sink(m + 5); continue;
		case 'f': m &= sink(m + 6); break;
		case 'g': return sink(m);
		case 'h': fail(m);
		default: m++;
		}
	return sink(m) + m;
}

NOINLINE int nested(int a, long b) {
	int m = 0;
	switch (a) {
	case 10: m = sink(1); break;
	case 11: m = sink(2); break;
	case 12:
		switch (b) {
		case 0: m = sink(3); break;
		case 1: m = sink(4) + 4; break;
		case 2: m = sink(5) + 3; break;
		case 3: m = sink(6) + 2; break;
		case 4: m = sink(7) + 1; break;
		}
		break;
	case 13: m = sink(8) * sink(m); break;
	case 14: return dense(sink(9));
	case 15: m = sink(10); break;
	}
	return m + sink(m);
}

NOINLINE int sized(int n, int m) {
	char *p = alloca(n);
	fill(p, n);
	switch (m) {
	case 0: return sink(p[0]);
	case 1: return sink(p[1]) + 1;
	case 2: return sink(p[2]) + 2;
	case 3: return sink(p[3]) + 3;
	case 4: return sink(p[4]) + 4;
	case 5: return sink(p[5]) + 5;
	}
	return 0;
}

NOINLINE int aligned(int n) {
	_Alignas(64) char room[128];
	fill(room, n);
	return sink(room[n]) + sink(room[n + 1]);
}

// The index is a constant on one path, and what follows the table leads into instructions.
int constant(unsigned char *, int);
#ifdef __x86_64__
__asm__(".text\n.globl constant\n.type constant,@function\nconstant: .cfi_startproc\n"
	"push %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset %rbx,-16\ntest %esi,%esi\njne 1f\nmov $2,%ebx\njmp 7f\n"
	"1: mov (%rdi),%ebx\ncmp $3,%bl\nja 5f\n7: lea 9f(%rip),%rcx\nmovzbl %bl,%eax\nmovslq (%rcx,%rax,4),%rax\nadd %rcx,%rax\njmp *%rax\n"
	"2: mov $7,%edi\n3: mov $0x12345606,%ebx\n4: lea 1(%rbx),%eax\n"
	"5: pop %rbx\n.cfi_def_cfa_offset 8\nret\n.cfi_endproc\n.size constant,.-constant\n"
	".section .rodata\n.balign 4\n9: .long 2b-9b,3b-9b,4b-9b,5b-9b,3b+1-9b,3b+2-9b,4b+1-9b\n.text\n");
#else
int constant(unsigned char *p, int n) { return sink(*p + n); }
#endif

NOINLINE int tail(int (*f)(int), int n) { return n ? f(n) : dense(n); }
int all(int n, char **s) {
	struct node p = {n, n, 0};
	return dense(n) + byMemory(&p) + masked(n, n) + inALoop((unsigned char *)s[0], n, n) + nested(n, n) + sized(n, n) + aligned(n) + constant((unsigned char *)s[0], n) + tail(sink, n);
}
