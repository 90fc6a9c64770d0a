#include <algorithm>
#include <vector>

extern "C" int leaf(int stop, int n);

namespace app {

static inline __attribute__((always_inline)) int touch(int stop, int n) {
	if (stop == 0)
		__asm__ volatile("int3\n\tnop"); // line: trap
	return leaf(stop, n) + 1; // line: touch
}

template <typename T>
class Box {
	std::vector<T> items;

public:
	explicit Box(int n) {
		for (int i = 0; i < n; i++)
			items.push_back(T(i * 7919 % 101));
	}

	template <typename F>
	__attribute__((noinline)) int apply(F less) {
		std::sort(items.begin(), items.end(), less); // line: apply
		return int(items[0]);
	}
};

} // namespace app

extern "C" int work(int stop) {
	app::Box<long> box(60);
	bool done = false;
	return box.apply([&](long a, long b) { // line: work
		if (!done) {
			done = true;
			a += app::touch(stop, int(a)) & 0; // line: lambda
		}
		return a < b;
	});
}

static volatile int sink;

static inline __attribute__((always_inline)) void spot(int n) {
	sink = n; // line: spot
}

template <typename T>
__attribute__((noinline)) int place(T n) {
	spot(int(n)); // line: place
	return sink;
}

extern "C" int first() { return place<long>(1) + 1; }

extern "C" int second() { return place<char>(2) + place<long>(3); }
