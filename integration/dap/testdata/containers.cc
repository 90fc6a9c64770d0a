// A program with containers of the standard library, which writes down what they hold, each as a line "value EXPRESSION = TEXT".
#include <any>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <stack>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

using std::string;

string text(bool b) { return b ? "true" : "false"; }
string text(short n) { return std::to_string(n); }
string text(int n) { return std::to_string(n); }
string text(long n) { return std::to_string(n); }
string text(unsigned long n) { return std::to_string(n); }
string text(double d) { char b[64]; std::snprintf(b, sizeof b, "%g", d); return b; }
string text(const string &s) { return "\"" + s + "\""; }
string text(std::string_view s) { return "\"" + string(s) + "\""; }
struct Wide { long a, b, c; };
string text(const Wide &w) { return "{a = " + text(w.a) + ", b = " + text(w.b) + ", c = " + text(w.c) + "}"; }
template <class A, class B> string text(const std::pair<A, B> &p) { return "{first = " + text(p.first) + ", second = " + text(p.second) + "}"; }
template <class C> string sequence(const C &c) {
	size_t n = 0, all = 0;
	for (auto i = c.begin(); i != c.end(); ++i) all++;
	string out = std::to_string(all) + " elements {";
	for (auto i = c.begin(); i != c.end() && n < 64; ++i, ++n) {
		if (n > 0) out += ", ";
		if constexpr (std::is_same_v<C, std::vector<bool>>) out += text(bool(*i)); else out += text(*i);
	}
	if (all > 64) out += ", … " + std::to_string(all - 64) + " more";
	return out + "}";
}
template <class T> string text(const std::optional<T> &o) { return o ? "some " + text(*o) : "none"; }

int value(int i, int) { return i * 7 - 3; }
long value(int i, long) { return i * 1000003L; }
short value(int i, short) { return short(3 - i); }
double value(int i, double) { return i * 1.5; }
string value(int i, const string &) { return i % 2 ? "s" + std::to_string(i) : string(20, char('a' + i % 26)); }
Wide value(int i, const Wide &) { return {i, -i, i * 2L}; }
bool operator<(const Wide &x, const Wide &y) { return x.a < y.a; }
bool operator==(const Wide &x, const Wide &y) { return x.a == y.a; }
struct Hash { size_t operator()(const Wide &w) const { return w.a; } };
template <class T> struct hash_of { using type = std::hash<T>; };
template <> struct hash_of<Wide> { using type = Hash; };

template <class T> struct All {
	std::vector<T> vector;
	std::deque<T> deque;
	std::list<T> list;
	std::forward_list<T> chain;
	std::map<int, T> map;
	std::map<short, T> shorts;
	std::multimap<T, int> keyed;
	std::set<T> set;
	std::unordered_map<int, T> hashed;
	std::unordered_set<T, typename hash_of<T>::type> hashes;
	std::optional<T> optional;
	std::pair<T, int> pair;
	std::stack<T> stack;
	std::array<T, 3> array{};
	void fill(int n) {
		for (int i = 0; i < n; i++) {
			T v = value(i, T());
			vector.push_back(v), deque.push_back(v), deque.push_front(v), list.push_back(v), chain.push_front(v), map[i] = v, shorts[short(-i)] = v;
			keyed.emplace(v, i), set.insert(v), hashed[i * 17] = v, hashes.insert(v), optional = v, pair = {v, i}, stack.push(v), array[i % 3] = v;
		}
		if (n > 3) deque.pop_front(), deque.pop_front(), deque.pop_front();
	}
	void write(const char *name) {
		auto one = [&](const char *member, const string &t) { std::printf("value %s.%s = %s\n", name, member, t.c_str()); };
		one("vector", sequence(vector)), one("deque", sequence(deque)), one("list", sequence(list)), one("chain", sequence(chain));
		one("map", sequence(map)), one("shorts", sequence(shorts)), one("keyed", sequence(keyed)), one("set", sequence(set));
		one("hashed", sequence(hashed)), one("hashes", sequence(hashes)), one("optional", text(optional)), one("pair", text(pair));
		if (!vector.empty()) one("stack.c.size()", text(stack.size()));
		one("array", "{" + text(array[0]) + ", " + text(array[1]) + ", " + text(array[2]) + "}");
		if (vector.size() > 1) one("vector[1]", text(vector[1])), one("deque[1]", text(deque[1])), one("list.size()", text(list.size())), one("map[1].second", text(map[1]));
	}
};

__attribute__((noinline)) void stop() { __asm__ volatile("int3" ::: "memory"); }

template <class T> __attribute__((noinline)) void hold() {
	All<T> none, one, few, many, moved, garbage;
	one.fill(1), few.fill(5), many.fill(70), moved.fill(3);
	All<T> taken = std::move(moved);
	none.write("none"), one.write("one"), few.write("few"), many.write("many"), moved.write("moved"), taken.write("taken");
	std::puts("stop");
	stop();
	char before[sizeof(garbage)];
	for (unsigned char fill : {0x5a, 0xff, 0x01}) { // what is not initialized
		std::memcpy(before, (void *)&garbage, sizeof before);
		std::memset((void *)&garbage, fill, sizeof garbage);
		std::puts("garbage");
		stop();
		std::memcpy((void *)&garbage, before, sizeof before);
	}
}

int negate(int n) { return -n; }
struct Empty {};

// Formatters have types of their own of these names, and an enumeration without a name is not what a symbol without a type is about.
struct T { long a, b, c, d; };
struct T0 { int e; };
enum { nameless = 1 };

__attribute__((noinline)) void others() {
	int unnamed = nameless;
	std::vector<bool> bits, some, lots;
	for (int i = 0; i < 130; i++) lots.push_back(i % 3 == 0);
	some = {true, false, true};
	std::variant<int, double, string> v0 = 5, v1 = 2.5, v2 = "text";
	std::variant<std::monostate, long> v3;
	std::tuple<int, string, double> triple = {1, "two", 3.5};
	std::tuple<> nothing;
	std::tuple<Empty, int> withEmpty = {Empty(), 4};
	std::any a0, a1 = 5, a2 = string("any"), a3 = 2.5, a4 = T{1, 2, 3, 4}, a5 = T0{7};
	std::function<int(int)> f0, f1 = negate;
	std::chrono::milliseconds ms(1500);
	std::chrono::seconds s(-3);
	std::chrono::nanoseconds ns(7);
	std::chrono::hours h(2);
	std::filesystem::path path = "/usr/lib/x";
	std::shared_ptr<int> shared = std::make_shared<int>(11), gone;
	std::weak_ptr<int> weak = shared;
	std::unique_ptr<Wide> unique(new Wide{1, 2, 3});
	std::atomic<int> atom(42);
	std::u16string u16 = u"hé€";
	std::u32string u32 = U"hé😀";
	std::wstring wide = L"wïde";
	string empty, shortest = "x", exact(15, 'e'), longer(16, 'l'), largest(22, 'm'), large(23, 'n'), zero("a\0b", 3);
	std::string_view view = "view", noView;
	std::queue<int> queue;
	queue.push(1), queue.push(2);
	std::priority_queue<int> heap;
	heap.push(1), heap.push(9);
	std::vector<std::map<int, std::vector<short>>> nested = {{{1, {2, 3}}}, {}};
	auto one = [&](const char *name, const string &t) { std::printf("value %s = %s\n", name, t.c_str()); };
	one("bits", sequence(bits)), one("some", sequence(some)), one("lots", sequence(lots)), one("lots[129]", text(bool(lots[129])));
	one("v0", "some " + text(std::get<0>(v0))), one("v1", "some " + text(std::get<1>(v1))), one("v2", "some " + text(std::get<2>(v2)));
	one("v3", "some {}");
	one("triple", "{" + text(std::get<0>(triple)) + ", " + text(std::get<1>(triple)) + ", " + text(std::get<2>(triple)) + "}"), one("triple[1]", text(std::get<1>(triple)));
	one("nothing", "{}");
#ifndef _LIBCPP_VERSION // a base without a name
	one("withEmpty", "{{}, 4}");
#endif
	one("a0", a0.has_value() ? "" : "none"), one("a1", "some " + text(std::any_cast<int>(a1))), one("a2", "some " + text(std::any_cast<string>(a2))), one("a3", "some " + text(std::any_cast<double>(a3)));
	one("a4", "some {a = 1, b = 2, c = 3, d = 4}"), one("a5", "some {e = 7}");
	one("f0", f0 ? "" : "none");
	one("ms", text(long(ms.count())) + "ms"), one("s", text(long(s.count())) + "s"), one("ns", text(long(ns.count())) + "ns"), one("h", text(long(h.count())) + "h"), one("path", text(path.string()));
	one("*shared.get()", text(*shared)), one("*weak.get()", text(*weak.lock())), one("unique->b", text(unique->b)), one("*unique.get()", text(*unique)), one("gone.get()", gone ? "" : "0x0"), one("atom", text(atom.load()));
	one("u16", "\"hé€\""), one("u32", "\"hé😀\""), one("wide", "\"wïde\"");
	one("empty", text(empty)), one("shortest", text(shortest)), one("exact", text(exact)), one("longer", text(longer)), one("largest", text(largest)), one("large", text(large)), one("zero", "\"a\\x00b\""), one("zero.size()", text(zero.size()));
	one("view", text(view)), one("noView", text(noView));
	one("queue", "2 elements {1, 2}"), one("heap", "2 elements {9, 1}");
	one("nested", "2 elements {1 elements {{first = 1, second = {…}}}, 0 elements {}}");
	one("nested[0]", "1 elements {{first = 1, second = 2 elements {2, 3}}}");
	std::puts("stop");
	stop();
}

int main() {
	std::setvbuf(stdout, nullptr, _IONBF, 0);
	hold<int>();
	hold<string>();
	hold<Wide>();
	others();
}
