// C++: templates, lambdas, std::sort, exceptions, threads, virtual functions, local and
// nameless types, namespaces of all kinds.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "part.h"

namespace {
std::mutex guard;
std::map<std::string, long> seen;

template <class K> struct Less {
  K key;
  template <class T> bool operator()(const T &a, const T &b) const { return (a ^ key) < (b ^ key); }
};

void remember(const std::string &name, long v) {
  std::lock_guard<std::mutex> lock(guard);
  seen[name] += v;
}
}  // namespace

static std::vector<shop::Item> stock(int n) {
  std::vector<shop::Item> all;
  for (int i = 0; i < n; i++) all.push_back({"item " + std::to_string(i), (i * 7919L) % 1009});
  std::sort(all.begin(), all.end());
  std::stable_sort(all.begin(), all.end(), [](const auto &a, const auto &b) { return a.name < b.name; });
  return all;
}

static long sorted(int n) {
  struct {
    long least = 5;
    bool keeps(long v) const { return v > least; }
  } filter;
  struct Count {
    long n = 0;
    void add(long by) { n += by; }
  } count;
  std::vector<long> v(n);
  std::iota(v.begin(), v.end(), 1);
  std::sort(v.begin(), v.end(), Less<long>{0x55});
  std::sort(v.begin(), v.end(), [n](long a, long b) { return a % n < b % n; });
  for (long x : v)
    if (filter.keeps(x)) count.add(x);
  return count.n;
}

static long guarded(int kind, const std::vector<shop::Item> &all) {
  try {
    return shop::total(all, *shop::ruleFor(kind));
  } catch (const std::range_error &e) {
    remember(e.what(), -1);
  } catch (const std::logic_error &e) {
    remember(e.what(), 1);
    if (kind > 7) throw;
  }
  return 0;
}

int main(int argc, char **argv) {
  auto all = stock(300);
  shop::Ring<long, 64> ring;
  std::vector<std::thread> threads;
  std::function<void(int)> work = [&](int kind) {
    long v = guarded(kind, all);
    remember("thread", v);
    std::lock_guard<std::mutex> lock(guard);
    ring.put(v);
  };
  for (int i = 0; i < 4; i++) threads.emplace_back(work, i);
  for (auto &t : threads) t.join();
  long sum = ring.fold([](long v) { return v / 2; }) + ring.fold([&](long v) { return v % argc; });
  std::printf("%ld %ld %zu %s\n", sum, sorted(500), seen.size(), argv[0]);
}
