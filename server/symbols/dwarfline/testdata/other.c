static inline __attribute__((always_inline)) int half(int x) { return x / 2; }

__attribute__((noinline)) int other(int x) { return half(x) + 40; }
