// Functions that the linker has no names for, in scopes of all kinds: what is inlined
// here and has no linkage name is called by its scopes and its own name.
#define INLINE inline __attribute__((always_inline))
volatile int sink;

namespace app {
namespace {
struct Hidden {
  INLINE int twice(int x) { return sink = x * 2; }
};
INLINE int alone(int x) { return sink = x + 1; }
}  // namespace
inline namespace v2 {
static INLINE int versioned(int x) { return sink = x ^ 5; }
}
template <class F> INLINE int call(F f, int x) { return f(x); }
namespace {
struct Method {
  __attribute__((noinline)) int outer(int x) {
    struct Local {
      struct Inner {
        INLINE int op(int q) { return sink = q * 7; }
      };
    };
    auto f = [](int q) __attribute__((always_inline)) { return sink = q * 3; };
    Local::Inner in;
    return call(f, x) + in.op(x);
  }
};
}  // namespace
}  // namespace app

__attribute__((noinline)) int run(int x) {
  struct {
    INLINE int op(int q) { return sink = q - 4; }
  } nameless;
  app::Hidden h;
  return nameless.op(x) + h.twice(x) + app::alone(x) + app::versioned(x);
}

int main(int argc, char **) {
  app::Method m;
  return run(argc) + m.outer(argc);
}
