#include <vector>
#include <algorithm>
#include <stdexcept>
#include <cstdio>

namespace shop {
struct Order {
  int n;
  int total(int k) const;
  double total(double k) const;
  int operator()(int a) { return a + n; }
  bool operator<(const Order &o) const { return n < o.n; }
  explicit operator bool() const { return n != 0; }
  ~Order();
};
int Order::total(int k) const { return n * k; }
double Order::total(double k) const {
  return n * k;
}
Order::~Order() { std::puts("gone"); }

namespace {
__attribute__((noinline)) int hidden(int a) {
  return a * 3;
}
}

template <class T> __attribute__((noinline)) T most(T a, T b) {
  if (a < b)
    return b;

  // nothing here
  return a;
}
int viaHidden(int a) { return hidden(a) + most<int>(a, 2) + (int)most<double>(a, 2.5); }
}

static inline __attribute__((always_inline)) int twice(int a) {
  int b = a + a;
  return b * b;
}

int one(int n) { return n + 1; }

__attribute__((noinline)) int thrower(int n) {
  if (n > 100)
    throw std::runtime_error("large");
  return n;
}

int many(int n) {
  auto f = [n](int k) { return k * n; };
  auto g = [](double k) {
    return k * 2;
  };
  int s = 0;
  for (int i = 0; i < n; i++)
    s += twice(i) + f(i) + (int)g(i);
  return s + twice(n);
}

int main(int argc, char **argv) {
  shop::Order o{argc};
  std::vector<int> v{3, 1, 2};
  std::sort(v.begin(), v.end(), [](int a, int b) { return a < b; });
  if (o) std::printf("%d %f %d\n", o.total(2), o.total(2.5), o(3));
  return one(many(argc)) + shop::viaHidden(argc) + thrower(argc) + (o < o);
}
