// C++ with landing pads: functions with language-specific data and a personality.
struct Guard {
	long *p;
	explicit Guard(long *q) : p(q) { ++*p; }
	~Guard() { --*p; }
};
extern "C" long leaf(long a);
extern "C" long mayThrow(long a) { if (a > 7) throw 1; return leaf(a); }
extern "C" long guarded(long a) { long n = 0; Guard g(&n); return mayThrow(a) + n; }
extern "C" long guardedTwice(long a, long b) { long n = 0; Guard g(&n); long t = mayThrow(a); Guard h(&t); return mayThrow(b + t) + n + t; }
extern "C" long catches(long a) { try { return guarded(a); } catch (int e) { return e + a; } catch (...) { return -1; } }
extern "C" long cannot(long a) noexcept { return mayThrow(a) + 1; }
extern "C" long plain(long a, long b) { return leaf(a) * leaf(b) + a - b; }
extern "C" __attribute__((noinline)) long leaf(long a) { return a * 3 + 1; }
