// A program with templates, lambdas, virtual functions, exceptions and calls that
// are inlined into each other.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace app {
template <class T> struct Box {
  std::vector<T> items;
  __attribute__((noinline)) T apply(T key) {
    std::sort(items.begin(), items.end(), [key](T a, T b) { return (a ^ key) < (b ^ key); });
    T sum = 0;
    for (auto item : items) sum += item * key;
    return sum;
  }
};

static inline int twice(int x) { return x * 2 + rand(); }

struct Base {
  virtual int f(int) = 0;
  virtual ~Base() {}
};

struct Derived : Base {
  std::string s;
  int f(int x) override {
    s += std::to_string(x);
    return (int)s.size() + twice(x);
  }
};
}  // namespace app

std::map<std::string, int> counts;

__attribute__((noinline)) int run(int n) {
  app::Box<long> box;
  for (int i = 0; i < n; i++) box.items.push_back(rand());
  app::Derived d;
  if (n > 1000) throw std::string("too many");
  counts["a" + std::to_string(n)] = d.f(n);
  try {
    counts.at("none");
  } catch (std::exception &e) {
    puts(e.what());
  }
  return (int)box.apply(n) + counts.size();
}

int main(int argc, char **argv) { return run(argc + 10) & 1; }
