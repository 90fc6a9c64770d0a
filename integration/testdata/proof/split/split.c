#define NOINLINE __attribute__((noinline, noclone))

void told(void *ra);
extern volatile int many;

NOINLINE int splits(int depth) {
	volatile char room[2 << 10];
	told(__builtin_return_address(0));
	room[depth & 1023] = depth;
	if (depth == 0) __asm__ volatile("int3");
	else depth += splits(depth - 1);
	return depth + room[depth & 511];
}
