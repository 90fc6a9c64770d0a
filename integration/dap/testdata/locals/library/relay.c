// A library without any DWARF, built without frame pointers and stripped: Delve
// cannot find a way past it.
#include <unistd.h>

// relay keeps a number in the register that callers have their frame pointer in.
int relay(int (*back)(int), int x)
{
	register long kept __asm__("rbp") = x;
	__asm__ volatile("" : "+r"(kept));
	int r = back(x + 1) + 1;
	__asm__ volatile("" : "+r"(kept));
	return r + (int)kept - x;
}

// hold never returns.
int hold(int x)
{
	for (;;)
		pause();
	return x;
}

int trap(int x)
{
	__asm__ volatile("int3");
	return x + 1;
}
