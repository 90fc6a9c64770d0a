// The library: templates, lambdas, and functions of the standard library inlined in
// them.
#include <algorithm>
#include <vector>

namespace shapes {

template <class T> class Box {
  public:
	explicit Box(T value) : value(value) {}
	template <class F> __attribute__((noinline)) T apply(F f) const { return f(value) + value; }

  private:
	T value;
};

} // namespace shapes

extern "C" int shapes_visit(int n, int (*call)(int)) {
	std::vector<int> sizes = {3, 1, 2};
	return shapes::Box<int>(n).apply([&](int v) {
		int sum = 0;
		std::for_each(sizes.begin(), sizes.end(), [&](int size) { sum += call(v + size); });
		return sum;
	}) + 1;
}
