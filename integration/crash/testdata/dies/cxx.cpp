#include <stdexcept>
#include <string>
#include <cstring>

struct failure : std::runtime_error { int code; failure(const std::string &s, int c) : std::runtime_error(s), code(c) {} };
struct other { int a; };
struct own : std::exception { const char *what() const noexcept override { return "computed"; } };

__attribute__((noinline)) static void thrower(const char *how) {
	if (!strcmp(how, "runtime")) throw std::runtime_error("the disk is full");
	if (!strcmp(how, "derived")) throw failure("no such table", 7);
	if (!strcmp(how, "logic")) throw std::out_of_range("index 9 of 3");
	if (!strcmp(how, "int")) throw 42;
	if (!strcmp(how, "text")) throw "a plain text";
	if (!strcmp(how, "struct")) throw other{1};
	if (!strcmp(how, "own")) throw own();
}
__attribute__((noinline)) static void quiet(const char *how) noexcept { thrower(how); }

struct base { base() { call(); } virtual ~base() {} void call(); virtual void pure() = 0; };
struct derived : base { void pure() override {} };
__attribute__((noinline)) void base::call() { pure(); }

extern "C" void dies_cxx(const char *how) {
	if (!strcmp(how, "pure")) { derived d; return; }
	if (!strncmp(how, "noexcept-", 9)) { quiet(how + 9); return; }
	thrower(how);
}
