// What the two files of the C++ program share.
#pragma once
#include <memory>
#include <string>
#include <vector>

namespace shop {
struct Item {
  std::string name;
  long price;
  bool operator<(const Item &o) const { return price < o.price; }
};

template <class T, int N> class Ring {
  T slots[N];
  int at = 0;

 public:
  struct Cursor {
    const Ring *ring;
    int i;
    const T &operator*() const { return ring->slots[i % N]; }
    Cursor &operator++() {
      i++;
      return *this;
    }
    bool operator!=(const Cursor &o) const { return i != o.i; }
  };
  void put(T v) { slots[at++ % N] = std::move(v); }
  Cursor begin() const { return {this, 0}; }
  Cursor end() const { return {this, at < N ? at : N}; }
  template <class F> long fold(F f) const {
    long sum = 0;
    for (const T &v : *this) sum += f(v);
    return sum;
  }
};

class Rule {
 public:
  virtual ~Rule() = default;
  virtual long cost(const Item &) const = 0;
};

std::unique_ptr<Rule> ruleFor(int kind);
inline namespace v2 {
long total(const std::vector<Item> &items, const Rule &rule);
}
}  // namespace shop
