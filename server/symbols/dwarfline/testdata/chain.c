// Calls that are inlined into each other, over a unit of its own, and tail calls.
extern int other(int);
volatile int sink;

static inline __attribute__((always_inline)) int innermost(int x) {
  sink = x;
  return other(x);
}

static inline __attribute__((always_inline)) int middle(int x) {
  return innermost(x + 1) * 2;
}

__attribute__((noinline)) int outer(int x) {
  return middle(x) + 1;
}

__attribute__((noinline)) int leaf(int x) { return other(x) + 1; }
__attribute__((noinline)) int mid(int x) { sink = x; return leaf(x + 3); }
__attribute__((noinline)) int top(int x) { return mid(x) + 1; }

__attribute__((noinline)) int mid2(int x) { sink = x + 7; return leaf(x + 9); }
__attribute__((noinline)) int fork_(int x) { if (x & 1) return mid(x); return mid2(x); }
__attribute__((noinline)) int unclear(int x) { return fork_(x) + 1; }

int main(int argc, char **argv) { return outer(argc) + top(argc) + unclear(argc); }
