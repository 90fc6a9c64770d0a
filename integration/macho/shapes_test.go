package macho

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// prelude is what all parts of a program begin with.
const prelude = `typedef long i64;
typedef unsigned long u64;
#define NI __attribute__((noinline))
typedef i64 (*fn)(i64, i64);
struct S { i64 v[9]; };
extern volatile i64 sink;
extern void *volatile keep;
extern void *volatile notes[1024];
extern volatile i64 noted;
void *memset(void *, int, u64); void *memcpy(void *, const void *, u64); void bzero(void *, u64); void __bzero(void *, u64);
#define NOTE() (notes[noted++ & 1023] = __builtin_return_address(0))
NI i64 leaf(i64); NI i64 redzone(i64); NI i64 leafFrame(i64); NI i64 leafSaves(i64, i64); NI i64 leafRets(i64); NI void leafSwitch(i64);
NI double leafDouble(double, i64); NI i64 fib(i64); NI void note(i64, ...); NI i64 farCalls(i64);
__attribute__((weak)) NI i64 weakLeaf(i64);
__attribute__((noreturn)) NI void never(i64);
`

// helpers are functions that those of the chain call besides.
const helpers = `
volatile i64 sink;
void *volatile keep;
void *volatile notes[1024];
volatile i64 noted;
void *memset(void *d, int c, u64 n) { volatile char *p = d; while (n--) *p++ = c; return d; }
void *memcpy(void *d, const void *s, u64 n) { volatile char *p = d; const char *q = s; while (n--) *p++ = *q++; return d; }
void bzero(void *d, u64 n) { memset(d, 0, n); }
void __bzero(void *d, u64 n) { memset(d, 0, n); }
NI i64 leaf(i64 a) { return a * 3 + 1; }
NI i64 redzone(i64 a) { volatile i64 x[6]; for (int i = 0; i < 6; i++) x[i] = a + i; return x[a & 3] + x[5]; }
NI i64 leafFrame(i64 a) { volatile i64 x[70]; for (int i = 0; i < 4; i++) x[i * 20] = a + i; return x[20] + x[60]; }
NI i64 leafSaves(i64 a, i64 b) { ` + "CLOBBER_ALL" + ` return a ^ b; }
NI i64 leafRets(i64 a) { if (a & 1) return a + 1; if (a & 2) { sink += a; return 2; } CLOBBER_ONE sink -= a; return 7; }
NI void leafSwitch(i64 a) { switch (a & 7) { case 0: sink = 1; break; case 1: sink += 4; break; case 2: sink *= 3; break; case 3: sink -= 9; break; case 4: sink ^= 5; break; case 5: sink |= 64; break; } }
NI double leafDouble(double x, i64 n) { double s = x; for (i64 i = 0; i < n; i++) { s = s * 1.5 + i; s += s > 100 ? -90 : 1; } return s; }
NI i64 fib(i64 n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
NI void note(i64 n, ...) { __builtin_va_list ap; __builtin_va_start(ap, n); i64 s = 0; while (n--) s += __builtin_va_arg(ap, i64); __builtin_va_end(ap); sink += s; NOTE(); }
__attribute__((weak)) NI i64 weakLeaf(i64 a) { sink += a; return a - 1; }
__attribute__((noreturn)) NI void never(i64 a) { sink = a; for (;;) __asm__ volatile(""); }
__attribute__((noreturn)) NI void theEnd(i64 a) { sink = a; for (;;) __asm__ volatile(""); }
__attribute__((noreturn)) NI static void outOf(i64 a) { sink = leaf(a); theEnd(a + 1); }
__attribute__((noreturn)) NI void noWayBack(i64 a) { volatile i64 x[5]; x[0] = leaf(a); keep = (void *)x; outOf(x[0]); }
`

// far is the second library, which the first reaches through stubs.
const far = `typedef long i64;
#define NI __attribute__((noinline))
volatile i64 farSink;
NI i64 farLeaf(i64 a) { return a * 5 + 2; }
NI i64 farCalls(i64 a) { i64 t = farLeaf(a), u = farLeaf(a + t); farSink += t; return t * u + farLeaf(u) + a; }
`

// shape makes the body of a chain's function, which calls next.
type shape struct {
	name string
	body func(r *rand.Rand, next string) string
}

// frameSizes are sizes of local arrays: small, beyond the size that an encoding holds on
// x86-64 (2,040 bytes), beyond a page, and beyond an arm64 immediate.
var frameSizes = []int{24, 100, 500, 1900, 2100, 4000, 4090, 5000, 9000, 17000, 33000}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// values are n values that live across the call of next.
func values(r *rand.Rand, n int, next string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "i64 v%d = %s(a + %d) ^ b; ", i, pick(r, []string{"leaf", "redzone", "leafRets", "weakLeaf", "leafFrame"}), i)
	}
	fmt.Fprintf(&b, "i64 t = %s(v0 + b, a); return t", next)
	for i := range n {
		fmt.Fprintf(&b, " + v%d * %d", i, i+3)
	}
	return b.String() + " + leaf(t);"
}

// shapes are the kinds of functions in C.
var shapes = []shape{
	{"plain", func(r *rand.Rand, next string) string { return fmt.Sprintf("return %s(leaf(a), b) + 1;", next) }},
	{"values", func(r *rand.Rand, next string) string { return values(r, 1+r.IntN(9), next) }},
	{"values-again", func(r *rand.Rand, next string) string { return values(r, 1+r.IntN(9), next) }},
	{"tail", func(r *rand.Rand, next string) string {
		return fmt.Sprintf("sink += leaf(a); sink += leafSaves(b, a); __attribute__((musttail)) return %s(a + b, b);", next)
	}},
	{"tail-bare", func(r *rand.Rand, next string) string {
		return fmt.Sprintf("__attribute__((musttail)) return %s(b, a);", next)
	}},
	{"large", func(r *rand.Rand, next string) string {
		n := pick(r, frameSizes)
		return fmt.Sprintf("volatile char x[%d]; x[0] = a; x[%d] = b; keep = (void *)x; i64 t = %s(leaf(a), b); return t + x[0] + x[%d];", n, n-1, next, n-1)
	}},
	{"large-values", func(r *rand.Rand, next string) string {
		n := pick(r, frameSizes)
		return fmt.Sprintf("volatile i64 x[%d]; x[0] = a; x[%d] = leaf(b); keep = (void *)x; ", n/8, n/8-1) + values(r, 2+r.IntN(6), next)
	}},
	{"alloca", func(r *rand.Rand, next string) string {
		return fmt.Sprintf("char *p = __builtin_alloca((a & 7) * %d + 40); keep = p; memset(p, 3, 20); i64 t = %s(leaf(a), p[1]); return t + p[2] + sink;", 1+r.IntN(90), next)
	}},
	{"array-of-run-time-size", func(r *rand.Rand, next string) string {
		return fmt.Sprintf("i64 n = (a & 15) + 2; i64 s = 0; volatile i64 x[n]; keep = (void *)x; x[0] = leaf(b); x[n - 1] = 5; "+
			"for (i64 k = 1; k < 3; k++) { volatile i64 y[n * k]; keep = (void *)y; y[0] = k; s += leaf(y[0]) + x[0]; if (k == 2) s += %s(s, b); } return s + x[n - 1];", next)
	}},
	{"aligned", func(r *rand.Rand, next string) string {
		return fmt.Sprintf("volatile __attribute__((aligned(%d))) i64 x[8]; keep = (void *)x; x[0] = leaf(a); x[7] = %s(b, x[0]); return x[0] + x[7] + (((u64)x & 31) ? 1000 : 0);", 32<<r.IntN(3), next)
	}},
	{"aligned-run-time", func(r *rand.Rand, next string) string {
		return fmt.Sprintf("volatile __attribute__((aligned(64))) i64 x[8]; volatile i64 y[(a & 7) + 1]; keep = (void *)y; x[1] = leaf(a + b); y[0] = leaf(b); i64 t = %s(a, x[1]); return x[1] + y[0] + t;", next)
	}},
	{"switch", func(r *rand.Rand, next string) string {
		var b strings.Builder
		which := r.IntN(8)
		fmt.Fprintf(&b, "i64 t = leaf(b); __asm__(\"\" : \"=r\"(a) : \"0\"(%dL)); switch (a) {", which)
		for i := range 8 {
			call := pick(r, []string{"leaf(a)", "leafRets(t)", "fib(3)", "leafSaves(a, t)"})
			if i == which {
				call = next + "(t, b)"
			}
			fmt.Fprintf(&b, "case %d: t += %s; sink = t; %s", i, call, pick(r, []string{"break;", "return t;", "break;", "leafSwitch(t); break;"}))
		}
		return b.String() + "default: return leaf(a) - 5; } return t + leaf(b);"
	}},
	{"loop", func(r *rand.Rand, next string) string {
		return fmt.Sprintf("i64 s = 0; for (i64 i = 0; i < 4; i++) { s += leaf(i + a); s ^= i == %d ? %s(s, b) : redzone(i); } return s;", r.IntN(4), next)
	}},
	{"clobbers", func(r *rand.Rand, next string) string {
		return fmt.Sprintf("CLOBBER_%d i64 t = %s(a, b); CLOBBER_%d return t + 1;", r.IntN(16), next, r.IntN(16))
	}},
	{"doubles", func(r *rand.Rand, next string) string {
		n := 1 + r.IntN(9)
		s := ""
		for i := range n {
			s += fmt.Sprintf("double d%d = leafDouble(a + %d, 2); ", i, i)
		}
		s += fmt.Sprintf("i64 t = %s(a, (i64)d0);", next)
		for i := range n {
			s += fmt.Sprintf(" t += (i64)(d%d * 1.5);", i)
		}
		return s + " return t;"
	}},
	{"no-return", func(r *rand.Rand, next string) string {
		return fmt.Sprintf("if (a == -99) never(a); i64 t = leaf(a); if (t == -77) never(t); t += %s(t, b); if (t == -12345) never(leaf(t)); return t + b;", next)
	}},
	{"shrink-wrapped", func(r *rand.Rand, next string) string {
		return fmt.Sprintf("if (a == -98) return b; i64 t = leaf(a), u = leaf(b); for (i64 i = 0; i < 2; i++) t += leaf(u + i) * a; return t + u + %s(t, u) + a;", next)
	}},
	{"arguments-on-stack", func(r *rand.Rand, next string) string {
		return fmt.Sprintf("note(7, a, b, 3L, 4L, 5L, 6L, a + b); i64 t = %s(a, b); note(2, t, a); return t + b;", next)
	}},
	{"pointer", func(r *rand.Rand, next string) string {
		return fmt.Sprintf("fn p = %s; __asm__ volatile(\"\" : \"+r\"(p)); i64 t = p(a, b); return t + leafSaves(t, a);", next)
	}},
	{"structure", func(r *rand.Rand, next string) string {
		return fmt.Sprintf("struct S s = {{a, b, 3}}; struct S u = s; u.v[4] = leaf(a); keep = &u; u.v[5] = %s(u.v[4], b); return u.v[5] + s.v[2] + u.v[8];", next)
	}},
	{"branches", func(r *rand.Rand, next string) string {
		return fmt.Sprintf("i64 t; if (leaf(a) & 1) { t = %s(a, b); if (t & 2) { sink += t; return t; } } else { t = leafRets(b); t += %s(b, t); } CLOBBER_ONE return t - leafRets(t);", next, next)
	}},
	{"notes", func(r *rand.Rand, next string) string {
		return fmt.Sprintf("NOTE(); i64 t = %s(a, b); sink += weakLeaf(t); leafSwitch(t); return t;", next)
	}},
	{"stub", func(r *rand.Rand, next string) string {
		return fmt.Sprintf("i64 t = farCalls(a); t += %s(t, b); return t + farCalls(t);", next)
	}},
	{"atomics", func(r *rand.Rand, next string) string {
		return fmt.Sprintf("static i64 x; static __int128 y; i64 was = __atomic_load_n(&x, __ATOMIC_ACQUIRE), t = %s(a, b), k = leaf(a); __atomic_fetch_add(&x, k, __ATOMIC_ACQ_REL); "+
			"__atomic_exchange_n(&x, b, __ATOMIC_SEQ_CST); __atomic_compare_exchange_n(&x, &was, k, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); __atomic_store_n(&x, t, __ATOMIC_RELEASE); "+
			"keep = &y; return t + leaf(k) + was + b;", next)
	}},
	{"recursion", func(r *rand.Rand, next string) string {
		return fmt.Sprintf("if ((b & 0xff00) == 0x4200) return %s(a, b & 0xff) + leaf(a); i64 t = SELF(a + 1, (b & 0xff) | 0x4200); return t * 3 + b;", next)
	}},
}

// clobbers defines macros by which functions in C must save registers: sets of
// them, which are subsets of all in no particular order.
func clobbers(r *rand.Rand, arch target) string {
	var b strings.Builder
	clobber := func(name string, list []string) {
		fmt.Fprintf(&b, "#define CLOBBER_%s __asm__ volatile(\"\"", name)
		if len(list) > 0 {
			fmt.Fprintf(&b, " ::: \"%s\"", strings.Join(list, "\", \""))
		}
		b.WriteString(");\n")
	}
	clobber("ALL", arch.saved)
	clobber("ONE", arch.saved[:1])
	for i := range 16 {
		list := slices.Clone(arch.saved)
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		clobber(fmt.Sprint(i), list[:r.IntN(len(list)+1)])
	}
	return b.String()
}

// source is a program in parts.
type source struct {
	withFP, without string // C, to be compiled with frame pointers and without
	assembler       string
}

// generate makes a program: a chain of at least nested activations. It is the
// same for the same seed.
func generate(arch target, seed uint64, nested int) source {
	r := rand.New(rand.NewPCG(seed, uint64(len(arch.name))))
	head := prelude + clobbers(r, arch)
	var prototypes strings.Builder
	parts := [2]strings.Builder{}
	var assembler strings.Builder
	deck := []int{}
	draw := func() int { // every kind comes once before one comes again
		if len(deck) == 0 {
			deck = r.Perm(len(shapes) + len(shapes)/2)
		}
		k := deck[0]
		deck = deck[1:]
		return k
	}
	n := 0
	for active := 0; active < nested; n++ {
		name, next := fmt.Sprintf("f%d", n), fmt.Sprintf("f%d", n+1)
		fmt.Fprintf(&prototypes, "NI i64 %s(i64, i64);\n", name)
		k := draw()
		if k >= len(shapes) {
			assembler.WriteString(arch.asm(r, name, next))
			active++
			continue
		}
		s := shapes[k]
		body := strings.ReplaceAll(s.body(r, next), "SELF", name)
		fmt.Fprintf(&parts[r.IntN(2)], "NI i64 %s(i64 a, i64 b) { /* %s */ %s }\n", name, s.name, body)
		if !strings.HasPrefix(s.name, "tail") {
			active++
		}
	}
	last := fmt.Sprintf("f%d", n)
	fmt.Fprintf(&prototypes, "NI i64 %s(i64, i64);\nNI i64 begin(i64, i64);\nvoid bottom(void);\n__attribute__((noreturn)) void noWayBack(i64);\n", last)
	head += prototypes.String()
	end := fmt.Sprintf("NI void bottom(void) { sink++; NOTE(); }\nNI i64 %s(i64 a, i64 b) { bottom(); return a ^ b; }\n"+
		"NI i64 begin(i64 a, i64 b) { i64 t = f0(a, b); sink = t; noWayBack(t); }\n", last)
	return source{withFP: head + parts[0].String() + helpers + end, without: head + parts[1].String(), assembler: arch.asmHead + assembler.String()}
}
