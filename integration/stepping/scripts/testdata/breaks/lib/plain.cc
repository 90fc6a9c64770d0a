// Built with -O0 as libplain.so.
#include "all.h"

#include <pthread.h>
#include <stdexcept>

extern "C" int twice(int n) { return n * 2; } // @twice

static int hidden(int n) {
	int m = n + 3; // @hidden
	return m;
}

namespace shop {

struct Order {
	int n;
	explicit Order(int n) : n(n) { n++; } // @constructor
	~Order() {
		n = 0; // @destructor
	}
	int total(int extra) const {
		int sum = n + extra; // @total
		return sum;
	}
	Order operator+(const Order &other) const {
		return Order(n + other.n); // @plus
	}
};

namespace {
int secret(int n) {
	return n - 1; // @secret
}
} // namespace

} // namespace shop

int area(int side) {
	return side * side; // @area-int
}

double area(double side) {
	return side * side * 3.14; // @area-double
}

template <typename T> T biggest(T a, T b) {
	return a > b ? a : b; // @biggest
}

int step_one(int n) {
	return n + 1; // @step-one
}

int step_two(int n) {
	return n + 2; // @step-two
}

static int applied(int n) {
	auto more = [n](int m) {
		return n + m; // @lambda
	};
	return more(4); // @applied-return
}

static int down(int n) {
	if (n == 0)
		return 0;        // @down-end
	return 1 + down(n - 1); // @down
}

static int loops(int n) {
	int sum = 0;
	for (int i = 0; i < n; i++)
		sum += i; // @loop

	// @nothing

	return sum; // @loops-return
}

static void *threaded(void *arg) {
	int *n = static_cast<int *>(arg);
	*n += 5; // @thread
	return nullptr;
}

int everything() {
	int sum = twice(5); // @everything
	sum += hidden(1);
	{
		shop::Order a(1), b(2);
		sum += a.total(3);
		sum += (a + b).n;
	}
	sum += shop::secret(4);
	sum += area(2) + static_cast<int>(area(1.5));
	sum += biggest(1, 2) + static_cast<int>(biggest(1.5, 2.5));
	sum += step_one(1) + step_two(2);
	sum += applied(2);
	sum += down(3);
	sum += loops(5);
	pthread_t thread;
	int n = 0;
	if (pthread_create(&thread, nullptr, threaded, &n) == 0)
		pthread_join(thread, nullptr);
	return sum + n;
}
