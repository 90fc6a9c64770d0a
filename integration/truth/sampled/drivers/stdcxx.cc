// Streams, locales, regular expressions, sorting with a comparison in Go, exceptions thrown
// through Go's caller.
#include <algorithm>
#include <fstream>
#include <iomanip>
#include <locale>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

typedef int (*back)(int);
static back go;

struct buffer : std::streambuf {
	int overflow(int c) override { go(c); return c; }
	std::streamsize xsputn(const char *, std::streamsize n) override { go(n); return n; }
	int underflow() override { return go(0) < 0 ? 0 : traits_type::eof(); }
};

static int thrown(int n) {
	try {
		if (go(n) % 2)
			throw std::runtime_error("odd " + std::to_string(n));
		return std::vector<int>(3).at(n);
	} catch (const std::out_of_range &e) {
		return go(1);
	}
}

extern "C" int run(back b) {
	go = b;
	buffer to;
	std::ostream out(&to);
	out << 42 << std::hex << 255 << ' ' << std::setw(12) << std::setprecision(3) << 3.14159 << std::boolalpha << true << std::endl;
	out << std::put_time(std::gmtime(&(const time_t &)(const time_t[]){1700000000}[0]), "%c") << std::string("text");
	std::istringstream in("17 3.5 word 0x1f");
	int i;
	double d;
	std::string s;
	in >> i >> d >> s >> std::hex >> i;
	std::istream none(&to);
	none >> s;
	std::vector<std::string> words = {"pear", "apple", "fig", "plum"};
	std::sort(words.begin(), words.end(), [](const std::string &a, const std::string &b) { go(a.size()); return a < b; });
	std::map<std::string, int> m;
	for (auto &w : words)
		m[w] = go(w.size());
	s.insert(0, "prefix").append(300, 'x').replace(3, 5, "y");
	std::wstring wide(20, L'w');
	std::ifstream file("/etc/hostname");
	std::getline(file, s);
	for (int n = 0; n < 4; n++)
		try {
			thrown(n * 2 + n % 2);
		} catch (const std::exception &e) {
			go(s.size());
		}
	try {
		std::locale other("none");
	} catch (const std::runtime_error &) {
	}
	return 0;
}
