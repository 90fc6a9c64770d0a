// What the C files share.
#define FRAME __attribute__((noinline, noclone))

// SPOT is a place to stop at. Its address goes into a section of its own, which
// is not loaded, and not into the symbol table, where it would look like a
// function.
#define SPOT(name)                                                        \
	__asm__ volatile("771: nop\n\t.pushsection spots,\"\",@progbits\n\t"  \
					 ".quad 771b\n\t.asciz \"" name "\"\n\t.popsection" ::: "memory")

void enter(const char *name, void *ra, void *cfa);
#define ENTER(name) enter(name, __builtin_return_address(0), __builtin_dwarf_cfa())

unsigned stir(unsigned n);
int leaf(int n);
