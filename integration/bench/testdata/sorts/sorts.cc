#include <algorithm>
#include <functional>
#include <vector>

extern "C" int inside(int, int);

extern "C" void sorts() {
	std::vector<int> v{3, 1, 2};
	std::function<bool(int, int)> less = [](int a, int b) { return inside(a, b) < 0; };
	std::sort(v.begin(), v.end(), less);
}
