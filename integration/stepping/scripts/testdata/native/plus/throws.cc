#include <stdexcept>

namespace shop {

static int cleaned;

struct Guard {
	~Guard() {
		cleaned++; // @guard
	}
};

int fails(int n) {
	if (n > 0)                             // @fails
		throw std::runtime_error("empty"); // @fails-throw
	return n;
}

int between(int n) {
	Guard g;      // @between
	n = fails(n); // @between-call
	return n;     // @between-return
}

int handles(int n) {
	try {
		n = between(n);             // @handles-call
	} catch (std::exception &e) {   // @handles-catch
		n = 7;                      // @handles-caught
	}
	return n;                       // @handles-return
}

int quietly(int n) noexcept {
	try {
		n = fails(n);  // @quietly-call
	} catch (...) {    // @quietly-catch
		n = 8;         // @quietly-caught
	}
	return n;          // @quietly-return
}

int again(int n) {
	try {
		n = fails(n);     // @again-call
	} catch (...) {       // @again-catch
		n = 9;            // @again-caught
		throw;            // @again-throw
	}
	return n;
}

namespace {
int lambdas(int n) {
	auto bad = [](int k) {
		if (k > 0)    // @bad
			throw k;  // @bad-throw
		return k;
	};
	try {
		n = bad(n);     // @lambdas-call
	} catch (int k) {   // @lambdas-catch
		n = k + 1;      // @lambdas-caught
	}
	return n;           // @lambdas-return
}
} // namespace

int tries(int n) {
	n = handles(1);     // @tries-handles
	n = quietly(1);     // @tries-quietly
	try {
		n = again(1);   // @tries-again
	} catch (...) {     // @tries-catch
		n = 3;          // @tries-caught
	}
	n = lambdas(1);     // @tries-lambdas
	return n;           // @tries-return
}

} // namespace shop

extern "C" int run_throws(int n) {
	n = shop::tries(n); // @run-tries
	return n;           // @run-throws-return
}
