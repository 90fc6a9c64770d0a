// Functions that jump to the next one instead of calling it. Each writes its name, its
// return address and its CFA: where a function has those of the one before, that one
// has jumped to it, and its frame is gone.
#include <stdio.h>
#include <stdlib.h>
#include "tail.h"

#define NOINLINE __attribute__((noinline))
#define RECORD() record(__func__, __builtin_return_address(0), __builtin_dwarf_cfa())

static FILE *out;
volatile int sink;

NOINLINE void record(const char *name, void *ra, void *cfa) {
  fprintf(out, "%s %p %p\n", name, ra, cfa);
  fflush(out);
}

NOINLINE int leaf(int x) {
  RECORD();
#if defined(__x86_64__)
  __asm__ volatile("int3");
#else
  __asm__ volatile("brk #0");
#endif
  return sink = x + 1;
}

NOINLINE int mid(int x) {
  RECORD();
  return leaf(x + 3);
}

NOINLINE int hop(int x) {
  RECORD();
  return mid(x * 5);
}

static inline __attribute__((always_inline)) int within(int x) {
  sink = x;
  return leaf(x + 4);
}

NOINLINE int around(int x) {
  RECORD();
  return within(x * 3);
}

NOINLINE int other(int x) {
  RECORD();
  return leaf(x + 9);
}

NOINLINE int either(int x) {
  RECORD();
  return x & 1 ? mid(x) : other(x);
}

NOINLINE int direct(int x) { RECORD(); return leaf(x) + 1; }
NOINLINE int one(int x) { RECORD(); return mid(x) + 1; }
NOINLINE int two(int x) { RECORD(); return hop(x) + 1; }
NOINLINE int inlined(int x) { RECORD(); return around(x) + 1; }
NOINLINE int unclear(int x) { RECORD(); return either(x) + 1; }

int run(const char *way, const char *file, int x) {
  out = fopen(file, "w");
  if (!out) return 1;
  switch (way[0]) {
    case 'd': return direct(x) + 2;
    case 'o': return one(x) + 2;
    case 't': return two(x) + 2;
    case 'i': return inlined(x) + 2;
    default: return unclear(x) + 2;
  }
}
