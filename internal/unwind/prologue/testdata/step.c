/* Freestanding program for single-stepping: functions with every kind of frame that compilers make. */
typedef unsigned long u64;
typedef long i64;
#ifdef __clang__
#define NI __attribute__((noinline))
#else
#define NI __attribute__((noinline, noclone))
#endif

void *memset(void *d, int c, u64 n) { volatile char *p = d; while (n--) *p++ = c; return d; }
void *memcpy(void *d, const void *s, u64 n) { volatile char *p = d; const char *q = s; while (n--) *p++ = *q++; return d; }

volatile i64 sink;
void *volatile keep;

NI static i64 leaf(i64 a) { return a * 3 + 1; }
NI static i64 redzone(i64 a) { volatile i64 x[6]; for (int i = 0; i < 6; i++) x[i] = a + i; return x[a & 3] + x[5]; }
NI static i64 fib(i64 n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
NI static i64 twoRets(i64 a) { if (a & 1) { sink = leaf(a); return 1; } if (a & 2) return leaf(a) + leaf(a + 1); sink += 3; return 7; }
NI static i64 many(i64 a, i64 b, i64 c, i64 d, i64 e, i64 f) {
	i64 t = 0;
	for (i64 i = 0; i < 3; i++) { t += leaf(a + i) * b; t ^= leaf(c) + d; t += leaf(e + t) - f; }
	return t + a + b + c + d + e + f;
}
NI static i64 stackArgs(i64 a, i64 b, i64 c, i64 d, i64 e, i64 f, i64 g, i64 h, i64 i) { return many(a, b, c, d, e, f) + g * h - leaf(i); }
NI static i64 callStackArgs(i64 a) { return stackArgs(a, 1, 2, 3, 4, 5, 6, a, 8) + stackArgs(1, a, 2, 3, 4, 5, 6, 7, a); }
NI static i64 tail(i64 a) { if (a > 4) return fib(a & 3); return leaf(a); }
NI static i64 tailSaved(i64 a, i64 b) { sink += leaf(a); sink += leaf(b); return twoRets(a + b); }
NI static i64 big(i64 a) { volatile char buf[20000]; for (int i = 0; i < 20; i++) buf[i * 999] = i + a; sink += leaf(a); return buf[a & 15] + buf[19 * 999]; }
NI static i64 vla(i64 n) {
	volatile i64 x[n]; keep = (void *)x;
	for (i64 i = 0; i < n; i++) x[i] = leaf(i);
	i64 s = 0;
	for (i64 k = 1; k < 3; k++) { volatile i64 y[n * k]; keep = (void *)y; y[0] = k; s += leaf(y[0]) + x[k]; }
	return s + x[n - 1];
}
NI static i64 alloca1(i64 n) { char *p = __builtin_alloca(n * 17); keep = p; memset(p, 3, n); return leaf(p[1]) + sink; }
NI static i64 allocaBig(i64 n) { char *p = __builtin_alloca(n * 3000); keep = p; p[0] = 1; return leaf(p[0]) + n; }
NI static i64 aligned(i64 a) {
	volatile __attribute__((aligned(64))) i64 x[8]; keep = (void *)x;
	x[0] = a; x[7] = leaf(a); return x[0] + x[7] + (((u64)x & 63) ? 1000 : 0);
}
NI static i64 alignedVla(i64 n, i64 a, i64 b, i64 c, i64 d, i64 e, i64 f, i64 g) {
	volatile __attribute__((aligned(64))) i64 x[8]; volatile i64 y[n]; keep = (void *)y;
	x[1] = leaf(a + b); y[0] = leaf(c + d); return x[1] + y[0] + e + f + g;
}
NI static i64 sw(i64 a) {
	switch (a) {
	case 0: return leaf(a);
	case 1: sink = 3; return fib(3);
	case 2: return many(1, 2, 3, 4, 5, a);
	case 3: sink ^= leaf(2); break;
	case 4: return stackArgs(1, 2, 3, 4, 5, 6, 7, 8, a);
	case 5: sink += leaf(7) * leaf(8); /* fall */
	case 6: sink -= twoRets(a); break;
	case 7: return -1;
	case 8: sink = big(a); break;
	default: return leaf(a) - 5;
	}
	return sink + leaf(a);
}
NI static i64 swLoop(const unsigned char *prog) {
	i64 acc = 0, b = 1, c = 2;
	for (;;) {
		switch (*prog++) {
		case 0: return acc;
		case 1: acc += leaf(b); break;
		case 2: acc -= c; c += leaf(acc); break;
		case 3: b = acc ^ c; break;
		case 4: acc = stackArgs(acc, b, c, 1, 2, 3, 4, 5, 6); break;
		case 5: if (acc & 1) return -leaf(acc); break;
		case 6: acc = fib(acc & 3); break;
		}
	}
}
NI static void leafSwitch(i64 a) {
	switch (a) {
	case 0: sink = 1; break;
	case 1: sink += 4; break;
	case 2: sink *= 3; break;
	case 3: sink -= 9; break;
	case 4: sink ^= 5; break;
	case 5: sink |= 64; break;
	}
}
NI __attribute__((noreturn)) static void die(i64 a) {
	sink = a;
#ifdef __x86_64__
	__asm__ volatile("syscall" ::"a"(231L), "D"(a) : "rcx", "r11");
#else
	register i64 x8 __asm__("x8") = 94; register i64 x0 __asm__("x0") = a;
	__asm__ volatile("svc 0" ::"r"(x8), "r"(x0));
#endif
	__builtin_unreachable();
}
NI static i64 mayDie(i64 a, i64 b) {
	if (a < 0) die(a);
	i64 t = leaf(a) + leaf(b);
	if (t == -77) die(leaf(t));
	return t + b;
}
NI static i64 shrink(i64 a, i64 b) {
	if (a == 0) return b;
	i64 t = leaf(a), u = leaf(b);
	for (i64 i = 0; i < 2; i++) t += leaf(u + i) * a;
	if (t < -1000000) die(3);
	return t + u + a + b;
}
typedef i64 (*fn)(i64);
NI static i64 indirect(fn f, i64 a) { return f(a) + 1; }
NI static i64 indirectTail(fn f, i64 a) { sink += leaf(a); return f(a); }
NI static double fp(double x, i64 n) { double s = x; for (i64 i = 0; i < n; i++) { s = s * 1.5 + leaf(i); s += s > 100 ? -90 : 1; } return s; }
NI static double fpSaved(double a, double b, double c) { double t = fp(a, 2); t += fp(b, 2) * c; return t + fp(c, 1) * a + b; }
NI static i64 variadic(i64 n, ...) {
	__builtin_va_list ap; __builtin_va_start(ap, n);
	i64 s = 0;
	while (n--) s += __builtin_va_arg(ap, i64);
	__builtin_va_end(ap);
	return s + leaf(s);
}
struct S { i64 v[9]; };
NI static struct S byVal(struct S s) { s.v[3] += leaf(s.v[2]); return s; }
NI static i64 rec(i64 n, i64 a, i64 b) { if (!n) return a; i64 t = leaf(a); return rec(n - 1, t, a) + b + t; }
#ifndef __clang__ /* nested functions are an extension of gcc */
NI static i64 nested(i64 n) { i64 k = n; __attribute__((noinline)) i64 in(i64 z) { k += z; return leaf(k); } return in(n) + in(3) + k; }
#endif

#ifdef __x86_64__
i64 asmFrameless(i64), asmEnter(i64), asmThunk(i64), asmRbpScratch(i64), asmMoved(i64), asmLocalCall(i64);
__asm__(".text\n"
	".globl asmFrameless\n.type asmFrameless,@function\nasmFrameless:\n push %rbx\n mov %rdi,%rbx\n sub $24,%rsp\n mov %rbx,8(%rsp)\n"
	" cmp $2,%rdi\n jb 1f\n add $24,%rsp\n mov %rbx,%rax\n pop %rbx\n repz ret\n1: mov 8(%rsp),%rax\n lea 24(%rsp),%rsp\n pop %rbx\n ret\n.size asmFrameless,.-asmFrameless\n"
	".globl asmEnter\n.type asmEnter,@function\nasmEnter:\n enter $32,$0\n mov %rdi,-8(%rbp)\n mov -8(%rbp),%rax\n leave\n ret\n.size asmEnter,.-asmEnter\n"
	".globl asmThunk\n.type asmThunk,@function\nasmThunk:\n call 1f\n1: pop %rax\n sub %rax,%rax\n add %rdi,%rax\n ret\n.size asmThunk,.-asmThunk\n"
	".globl asmRbpScratch\n.type asmRbpScratch,@function\nasmRbpScratch:\n push %rbp\n mov %rdi,%rbp\n add %rbp,%rbp\n lea (%rbp,%rdi),%rax\n pop %rbp\n ret\n.size asmRbpScratch,.-asmRbpScratch\n"
	".globl asmMoved\n.type asmMoved,@function\nasmMoved:\n mov %rsp,%r11\n and $-32,%rsp\n sub $64,%rsp\n mov %rdi,(%rsp)\n mov (%rsp),%rax\n mov %r11,%rsp\n ret\n.size asmMoved,.-asmMoved\n"
	".globl asmLocalCall\n.type asmLocalCall,@function\nasmLocalCall:\n push %rbp\n mov %rsp,%rbp\n call 2f\n call 2f\n pop %rbp\n ret\n2: push %rbx\n lea 1(%rdi),%rbx\n mov %rbx,%rax\n mov %rax,%rdi\n pop %rbx\n ret\n.size asmLocalCall,.-asmLocalCall\n");
#endif

int run(void) {
	static const unsigned char prog[] = {1, 2, 3, 4, 6, 1, 2, 3, 1, 5, 2, 1, 5, 0};
	struct S s = {{1, 2, 3}};
	for (i64 i = 0; i < 10; i++) {
		sink += sw(i) + twoRets(i) + tail(i) + tailSaved(i, 2) + mayDie(i, 3) + shrink(i & 1, i) + aligned(i);
		leafSwitch(i);
	}
	sink += fib(5) + redzone(4) + callStackArgs(3) + big(2) + vla(5) + alloca1(20) + allocaBig(3) + alignedVla(4, 1, 2, 3, 4, 5, 6, 7);
	sink += swLoop(prog) + indirect(leaf, 3) + indirectTail(leaf, 5) + (i64)fpSaved(1, 2, 3) + variadic(8, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L);
	s = byVal(s);
	sink += s.v[3] + rec(6, 1, 2);
#ifndef __clang__
	sink += nested(4);
#endif
#ifdef __x86_64__
	sink += asmFrameless(1) + asmFrameless(3) + asmEnter(2) + asmThunk(1) + asmRbpScratch(3) + asmMoved(4) + asmLocalCall(4);
#endif
	return 42;
}

void finish(int c) { die(c); }
#ifdef __x86_64__
__asm__(".text\n.globl _start\n_start:\n xor %ebp,%ebp\n and $-16,%rsp\n call run\n mov %eax,%edi\n call finish\n hlt\n");
#else
__asm__(".text\n.globl _start\n_start:\n mov x29,#0\n mov x30,#0\n bl run\n bl finish\n brk #0\n");
#endif
