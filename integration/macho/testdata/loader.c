/* A loader of Mach-O libraries on Linux: loader STACK LIBRARY LIBRARY...

   Each library is mapped at a base of its own, 1 GiB apart from BASE on. Pointers to imported functions are bound by name
   among the libraries; lazy ones stay as the linker made them, so that the first call goes through the stub's helper.
   Then the function "begin" of the first library is called on a stack that is the file STACK, which the tracer maps as
   well, with known values in the callee-saved registers. There is no C library: what the tracer sees is what is here. */
#include <stdint.h>

#define BASE  0x300000000ul
#define APART 0x040000000ul
#define STACK 0x700000000ul

typedef uint64_t u64;
typedef uint32_t u32;

#ifdef __x86_64__
enum { OPEN = 2, FSTAT_SIZE = 8 /* lseek */, MMAP = 9, EXIT = 231 };
static long sys(long n, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long ret;
	__asm__ volatile("syscall" : "=a"(ret) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return ret;
}
static long open_file(const char *path, int flags) { return sys(OPEN, (long)path, flags, 0, 0, 0, 0); }
__asm__(".text\n.globl _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call run\n ud2\n"
	".globl enter\nenter: mov %rsi, %rsp\n"
	" mov $0x1b1b1b1b, %rbx\n mov $0x1c1c1c1c, %rbp\n mov $0x12121212, %r12\n mov $0x13131313, %r13\n mov $0x14141414, %r14\n mov $0x15151515, %r15\n"
	" mov %rdi, %rax\n mov $5, %edi\n mov $7, %esi\n call *%rax\n mov %eax, %edi\n call leave\n ud2\n");
#else
enum { OPENAT = 56, FSTAT_SIZE = 62, MMAP = 222, EXIT = 94 };
static long sys(long n, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c, x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
}
static long open_file(const char *path, int flags) { return sys(OPENAT, -100, (long)path, flags, 0, 0, 0); }
#define X(n) " mov x" #n ", #0x" #n #n "\n"
#define D(n) " mov x9, #0xd" #n "\n fmov d" #n ", x9\n"
__asm__(".text\n.globl _start\n_start: mov x0, sp\n bl run\n brk #0\n"
	".globl enter\nenter: mov sp, x1\n" X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29)
	D(8) D(9) D(10) D(11) D(12) D(13) D(14) D(15)
	" mov x9, x0\n mov x0, #5\n mov x1, #7\n blr x9\n bl leave\n brk #0\n");
#endif

void *memset(void *d, int c, u64 n) { volatile char *p = d; while (n--) *p++ = c; return d; }
void *memcpy(void *d, const void *s, u64 n) { volatile char *p = d; const char *q = s; while (n--) *p++ = *q++; return d; }

void enter(u64 function, u64 stack);
__attribute__((noreturn)) void leave(long status) { for (;;) sys(EXIT, status & 255, 0, 0, 0, 0, 0); }

/* What of Mach-O (mach-o/loader.h, mach-o/nlist.h) is needed. */
enum { MAGIC = 0xfeedfacf, SEGMENT = 0x19, SYMTAB = 2, DYSYMTAB = 0xb, POINTERS = 6, LAZY_POINTERS = 7, ANON = 0x20, SHARED = 1, PRIVATE = 2, FIXED = 0x10 };
struct header { u32 magic, cpu, subcpu, type, commands, size, flags, reserved; };
struct command { u32 kind, size; };
struct segment { u32 kind, size; char name[16]; u64 addr, len, off, filelen; u32 maxprot, prot, sections, flags; };
struct section { char name[16], segment[16]; u64 addr, len; u32 off, align, reloff, relocs, flags, reserved1, reserved2, reserved3; };
struct symtab { u32 kind, size, off, symbols, stroff, strsize; };
struct dysymtab { u32 kind, size, w[12], indirectoff, indirects; };
struct symbol { u32 name; uint8_t type, section; uint16_t desc; u64 value; };

struct library {
	u64 base;
	const char *file;
	const struct symtab *symtab;
	const struct dysymtab *dysymtab;
} libraries[8];
int count;

__attribute__((noreturn)) static void die(long status) { leave(status); }

static u64 map(long fd, u64 at, u64 len, int prot, int flags, u64 off)
{
	long r = sys(MMAP, at, len, prot, flags, fd, off);
	if (r < 0 && r > -4096)
		die(101);
	return r;
}

static int same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static u64 find(const char *name)
{
	for (int i = 0; i < count; i++) {
		struct library *l = &libraries[i];
		const struct symbol *s = (const void *)(l->file + l->symtab->off);
		for (u32 k = 0; k < l->symtab->symbols; k++)
			if ((s[k].type & 0xe0) == 0 && (s[k].type & 0xe) == 0xe && same(name, l->file + l->symtab->stroff + s[k].name))
				return l->base + s[k].value;
	}
	die(102);
}

static void load(const char *path)
{
	struct library *l = &libraries[count];
	l->base = BASE + APART * count++;
	long fd = open_file(path, 0);
	if (fd < 0)
		die(103);
	long len = sys(FSTAT_SIZE, fd, 0, 2, 0, 0, 0); /* lseek to the end */
	l->file = (const char *)map(fd, 0, len, 1, PRIVATE, 0);
	const struct header *h = (const void *)l->file;
	if (h->magic != MAGIC)
		die(104);
	const char *p = (const char *)(h + 1);
	for (u32 i = 0; i < h->commands; i++, p += ((const struct command *)p)->size) {
		const struct segment *s = (const void *)p;
		switch (s->kind) {
		case SYMTAB: l->symtab = (const void *)p; break;
		case DYSYMTAB: l->dysymtab = (const void *)p; break;
		case SEGMENT: {
			u64 file = (s->filelen + 4095) & ~4095ul, all = (s->len + 4095) & ~4095ul;
			if (file)
				map(fd, l->base + s->addr, file, s->prot, PRIVATE | FIXED, s->off);
			if (all > file)
				map(-1, l->base + s->addr + file, all - file, s->prot, PRIVATE | FIXED | ANON, 0);
		}
		}
	}
}

static void bind(struct library *l)
{
	const struct header *h = (const void *)l->file;
	const char *p = (const char *)(h + 1);
	const u32 *indirect = (const void *)(l->file + l->dysymtab->indirectoff);
	const struct symbol *symbols = (const void *)(l->file + l->symtab->off);
	for (u32 i = 0; i < h->commands; i++, p += ((const struct command *)p)->size) {
		const struct segment *s = (const void *)p;
		if (s->kind != SEGMENT)
			continue;
		const struct section *sections = (const void *)(s + 1);
		for (u32 k = 0; k < s->sections; k++) {
			const struct section *t = &sections[k];
			int kind = t->flags & 0xff;
			if (kind != POINTERS && kind != LAZY_POINTERS)
				continue;
			u64 *slot = (u64 *)(l->base + t->addr);
			for (u64 j = 0; j < t->len / 8; j++) {
				u32 which = indirect[t->reserved1 + j];
				if (which & 0xc0000000) /* local or absolute */
					continue;
				const struct symbol *y = &symbols[which];
				if ((y->type & 0xe) == 0xe)
					slot[j] = l->base + y->value;
				else if (kind == LAZY_POINTERS)
					slot[j] += l->base;
				else
					slot[j] = find(l->file + l->symtab->stroff + y->name);
			}
		}
	}
}

void run(long *args)
{
	long argc = args[0];
	char **argv = (char **)(args + 1);
	if (argc < 3)
		die(105);
	long fd = open_file(argv[1], 2);
	if (fd < 0)
		die(106);
	long len = sys(FSTAT_SIZE, fd, 0, 2, 0, 0, 0);
	map(fd, STACK, len, 3, SHARED | FIXED, 0);
	for (int i = 2; i < argc; i++)
		load(argv[i]);
	for (int i = 0; i < count; i++)
		bind(&libraries[i]);
	enter(find("_begin"), STACK + len - 64);
}
