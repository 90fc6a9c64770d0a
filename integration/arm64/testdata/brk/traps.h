// Functions that are a breakpoint instruction from their first instruction on.
#define TRAP(name, number)                                   \
	static int __attribute__((noinline)) name(int n) {   \
		__asm__ volatile("brk #" #number);           \
		return n + 1;                                \
	}
TRAP(trap0, 0)
TRAP(trap1, 1)
TRAP(trap77, 77)
TRAP(trap1000, 1000)
TRAP(trapF000, 0xf000)
int (*const traps[])(int) = {trap0, trap1, trap77, trap1000, trapF000};
