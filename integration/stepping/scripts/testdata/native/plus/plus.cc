#include <functional>

namespace shop {

struct Item {
	int price;
	explicit Item(int p) : price(p) { // @item
		price += 1;                   // @item-body
	}
	Item operator+(const Item &o) const {
		int sum = price + o.price; // @plus
		return Item(sum);          // @plus-return
	}
};

struct Base {
	int a = 1;
	virtual int cost(int n) { return n; }
	virtual ~Base() {}
};

struct Other {
	int b = 2;
	virtual int weight(int n) { return n; }
	virtual ~Other() {}
};

struct Both : Base, Other {
	int cost(int n) override {
		int m = n + a; // @cost
		return m;      // @cost-return
	}
	int weight(int n) override {
		int m = n + b; // @weight
		return m;      // @weight-return
	}
};

template <typename T> T larger(T x, T y) {
	T m = x > y ? x : y; // @larger
	return m;            // @larger-return
}

namespace {
int hidden(int n) {
	int m = n + 4; // @hidden
	return m;      // @hidden-return
}
} // namespace

int total(int n) {
	Item a(n), b(n + 1);          // @total
	Item c = a + b;               // @total-plus
	Both both;
	Base *base = &both;
	Other *other = &both;
	n = base->cost(c.price);      // @total-virtual
	n = other->weight(n);         // @total-thunk
	n = larger(n, 3);             // @total-template
	n = hidden(n);                // @total-hidden
	auto add = [&](int k) {
		int m = n + k; // @lambda
		return m;      // @lambda-return
	};
	n = add(2);                   // @total-lambda
	return n;                     // @total-return
}

} // namespace shop

extern "C" int run_plus(int n) {
	n = shop::total(n); // @run-total
	return n;           // @run-plus-return
}
