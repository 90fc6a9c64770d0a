extern "C" {
#include "native.h"
}

namespace shapes {
struct Square {
	int side;
	int area() const {
		int a = side * side; // @area
		return a;            // @area-return
	}
};
} // namespace shapes

int plus_plus(int n) {
	shapes::Square s{n};  // @plus
	int a = s.area();     // @plus-call
	return a;             // @plus-return
}

static int thrower(int n) {
	if (n > 0)     // @thrower
		throw n;
	return 0;
}

int throws(int n) {
	int m = 0;
	try {
		m = thrower(n); // @throws-call
	} catch (int e) { // @catch
		m = e + 1;
	}
	return m;           // @throws-return
}
