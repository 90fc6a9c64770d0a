/* A freestanding program for single-stepping, with frames of every kind that
   compilers make. It exits with 42. With -DLIBRARY it is the library instead
   that it calls with -DPLT. */
typedef long i64;
typedef unsigned long u64;
#define NI __attribute__((noinline, noclone))
/* Assembly that no table describes, and that does not count. */
#define UNDESCRIBED ".pushsection .undescribed,\"ax\",@progbits\n"
volatile i64 sink;
void *volatile keep;

#ifdef LIBRARY
NI i64 ext_leaf(i64 a) { return a + 7; }
NI i64 ext_calls(i64 (*f)(i64), i64 a) { return f(a) + ext_leaf(a); }
NI i64 ext_address(i64 a) { return a * 5; }
#else

void *memset(void *d, int c, u64 n) { volatile char *p = d; while (n--) *p++ = c; return d; }
void *memcpy(void *d, const void *s, u64 n) { volatile char *p = d; const char *q = s; while (n--) *p++ = *q++; return d; }

NI static i64 leaf(i64 a) { return a * 3 + 1; }
NI static i64 redzone(i64 a) { volatile i64 x[6]; for (int i = 0; i < 6; i++) x[i] = a + i; return x[a & 3] + x[5]; }
NI static i64 fib(i64 n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
NI static i64 returns(i64 a) { if (a & 1) { sink = leaf(a); return 1; } if (a & 2) return leaf(a) + leaf(a + 1); sink += 3; return 7; }
NI static i64 many(i64 a, i64 b, i64 c, i64 d, i64 e, i64 f) {
	i64 t = 0;
	for (i64 i = 0; i < 3; i++) { t += leaf(a + i) * b; t ^= leaf(c) + d; t += leaf(e + t) - f; }
	return t + a + b + c + d + e + f;
}
NI static i64 stacked(i64 a, i64 b, i64 c, i64 d, i64 e, i64 f, i64 g, i64 h, i64 i) { return many(a, b, c, d, e, f) + g * h - leaf(i); }
NI static i64 pushes(i64 a) { return stacked(a, 1, 2, 3, 4, 5, 6, a, 8) + stacked(1, a, 2, 3, 4, 5, 6, 7, a); }
NI static i64 tail(i64 a) { return a > 4 ? fib(a & 3) : leaf(a); }
NI static i64 tail_saved(i64 a, i64 b) { sink += leaf(a); sink += leaf(b); return returns(a + b); }
NI static i64 large(i64 a) { volatile char b[2000]; for (int i = 0; i < 20; i++) b[i * 99] = i + a; sink += leaf(a); return b[a & 15]; }
NI static i64 huge(i64 a) { volatile char b[70000]; for (int i = 0; i < 20; i++) b[i * 3499] = i + a; sink += leaf(a); return b[a & 15]; }
#ifdef __aarch64__ /* is probed in a loop with -fstack-clash-protection */
NI static i64 vast(i64 a) { volatile char b[400000]; b[a] = a; sink += leaf(a); return b[a & 15]; }
#else
NI static i64 vast(i64 a) { return leaf(a); }
#endif
NI static i64 variable(i64 n) {
	volatile i64 x[n]; keep = (void *)x;
	for (i64 i = 0; i < n; i++) x[i] = leaf(i);
	i64 s = 0;
	for (i64 k = 1; k < 3; k++) { volatile i64 y[n * k]; keep = (void *)y; y[0] = k; s += leaf(y[0]) + x[k]; }
	return s + x[n - 1];
}
NI static i64 allocates(i64 n) { char *p = __builtin_alloca(n * 17); keep = p; memset(p, 3, n); return leaf(p[1]) + sink; }
#ifndef __s390x__ /* where it cannot be done to so much */
NI static i64 aligned(i64 a) {
	volatile __attribute__((aligned(64))) i64 x[8]; keep = (void *)x;
	x[0] = a; x[7] = leaf(a); return x[0] + x[7] + (((u64)x & 63) ? 1000 : 0);
}
NI static i64 aligned_variable(i64 n, i64 a, i64 b, i64 c, i64 d, i64 e, i64 f, i64 g) {
	volatile __attribute__((aligned(64))) i64 x[8]; volatile i64 y[n]; keep = (void *)y;
	x[1] = leaf(a + b); y[0] = leaf(c + d); return x[1] + y[0] + e + f + g;
}
#else
NI static i64 aligned(i64 a) { return leaf(a); }
#endif
NI static i64 choose(i64 a) {
	switch (a) {
	case 0: return leaf(a);
	case 1: sink = 3; return fib(3);
	case 2: return many(1, 2, 3, 4, 5, a);
	case 3: sink ^= leaf(2); break;
	case 4: return stacked(1, 2, 3, 4, 5, 6, 7, 8, a);
	case 5: sink += leaf(7) * leaf(8); /* fall through */
	case 6: sink -= returns(a); break;
	case 7: return -1;
	case 8: sink = large(a); break;
	default: return leaf(a) - 5;
	}
	return sink + leaf(a);
}
NI static i64 shrink(i64 a, i64 b) {
	if (a == 0) return b;
	i64 t = leaf(a), u = leaf(b);
	for (i64 i = 0; i < 2; i++) t += leaf(u + i) * a;
	return t + u + a + b;
}
typedef i64 (*fn)(i64);
NI static i64 indirect(fn f, i64 a) { return f(a) + 1; }
NI static i64 indirect_tail(fn f, i64 a) { sink += leaf(a); return f(a); }
NI static double floats(double x, i64 n) { double s = x; for (i64 i = 0; i < n; i++) { s = s * 1.5 + leaf(i); s += s > 100 ? -90 : 1; } return s; }
NI static double saved_floats(double a, double b, double c) { double t = floats(a, 2); t += floats(b, 2) * c; return t + floats(c, 1) * a + b; }
NI static i64 variadic(i64 n, ...) {
	__builtin_va_list ap; __builtin_va_start(ap, n);
	i64 s = 0;
	while (n--) s += __builtin_va_arg(ap, i64);
	__builtin_va_end(ap);
	return s + leaf(s);
}
struct S { i64 v[9]; };
NI static struct S by_value(struct S s) { s.v[3] += leaf(s.v[2]); return s; }
NI static i64 recurse(i64 n, i64 a, i64 b) { if (!n) return a; i64 t = leaf(a); return recurse(n - 1, t, a) + b + t; }
/* As in C libraries, in assembly. */
static void *jump[16];
__attribute__((returns_twice)) int leave_mark(void **);
void go_back(void **) __attribute__((noreturn));
#if defined __x86_64__
__asm__(UNDESCRIBED "leave_mark:\n mov %rbx,(%rdi)\n mov %rbp,8(%rdi)\n mov %r12,16(%rdi)\n mov %r13,24(%rdi)\n mov %r14,32(%rdi)\n mov %r15,40(%rdi)\n"
	" lea 8(%rsp),%rdx\n mov %rdx,48(%rdi)\n mov (%rsp),%rdx\n mov %rdx,56(%rdi)\n xor %eax,%eax\n ret\n"
	"go_back:\n mov $1,%eax\n mov (%rdi),%rbx\n mov 8(%rdi),%rbp\n mov 16(%rdi),%r12\n mov 24(%rdi),%r13\n mov 32(%rdi),%r14\n mov 40(%rdi),%r15\n"
	" mov 48(%rdi),%rsp\n jmp *56(%rdi)\n.popsection\n");
#elif defined __aarch64__
__asm__(UNDESCRIBED "leave_mark:\n stp x19,x20,[x0]\n stp x21,x22,[x0,16]\n stp x23,x24,[x0,32]\n stp x25,x26,[x0,48]\n stp x27,x28,[x0,64]\n stp x29,x30,[x0,80]\n"
	" mov x2,sp\n str x2,[x0,96]\n mov w0,0\n ret\n"
	"go_back:\n ldp x19,x20,[x0]\n ldp x21,x22,[x0,16]\n ldp x23,x24,[x0,32]\n ldp x25,x26,[x0,48]\n ldp x27,x28,[x0,64]\n ldp x29,x30,[x0,80]\n"
	" ldr x2,[x0,96]\n mov sp,x2\n mov w0,1\n br x30\n.popsection\n");
#else
__asm__(UNDESCRIBED "leave_mark:\n stmg %r6,%r15,0(%r2)\n lghi %r2,0\n br %r14\n"
	"go_back:\n lmg %r6,%r15,0(%r2)\n lghi %r2,1\n lgr %r1,%r14\n br %r1\n.popsection\n");
#endif
NI static void jumps(i64 n) { sink += leaf(n); if (n == 0) go_back(jump); jumps(n - 1); sink++; }
NI static i64 set_jump(i64 n) { if (leave_mark(jump) == 0) { jumps(n); return 0; } return leaf(n) + sink; }
NI static i64 nested(i64 n) { i64 k = n; NI i64 in(i64 z) { k += z; return leaf(k); } return in(n) + in(3) + k; }

#ifdef PLT
i64 ext_leaf(i64), ext_calls(i64 (*)(i64), i64), ext_address(i64);
NI static i64 calls_library(i64 a) {
	fn f = ext_address; /* and called: has its entry in .plt.got */
	keep = (void *)f;
	return ext_leaf(a) + ext_calls(leaf, a) + ext_calls(f, a) + ext_address(a) + ext_leaf(a + 1);
}
#else
NI static i64 calls_library(i64 a) { return leaf(a); }
#endif

int run(void) {
	struct S s = {{1, 2, 3}};
	for (i64 i = 0; i < 10; i++)
		sink += choose(i) + returns(i) + tail(i) + tail_saved(i, 2) + shrink(i & 1, i) + aligned(i);
	sink += fib(5) + redzone(4) + pushes(3) + large(2) + huge(3) + vast(4) + variable(5) + allocates(20);
#ifndef __s390x__
	sink += aligned_variable(4, 1, 2, 3, 4, 5, 6, 7);
#endif
	sink += indirect(leaf, 3) + indirect_tail(leaf, 5) + (i64)saved_floats(1, 2, 3) + variadic(8, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L);
	s = by_value(s);
	sink += s.v[3] + recurse(6, 1, 2) + set_jump(3) + nested(4) + calls_library(5);
	return 42;
}

#if defined __x86_64__
__asm__(UNDESCRIBED ".globl _start\n_start:\n xor %ebp,%ebp\n and $-16,%rsp\n call run\n mov %eax,%edi\n mov $231,%eax\n syscall\n hlt\n.popsection\n");
#elif defined __aarch64__
__asm__(UNDESCRIBED ".globl _start\n_start:\n mov x29,#0\n mov x30,#0\n bl run\n mov x8,#94\n svc 0\n.popsection\n");
#elif defined __s390x__
__asm__(UNDESCRIBED ".globl _start\n_start:\n aghi %r15,-160\n brasl %r14,run\n lghi %r1,248\n svc 0\n.popsection\n");
#endif
#endif
