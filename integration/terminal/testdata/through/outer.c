int through(int (*f)(int), int n);

__attribute__((noinline)) int leaf(int n) {
	__asm__ volatile("int3");
	return n + 1;
}

__attribute__((noinline)) int outer(int n) {
	volatile int doubled = n * 2;
	int result = through(leaf, doubled + 100);
	return result + doubled;
}
