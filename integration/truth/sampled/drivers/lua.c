// A script with closures, coroutines, patterns, errors and a function in Go.
#include <stdlib.h>

typedef int (*back)(int);
extern void *lua_newstate(void *, void *);
extern void luaL_openlibs(void *), lua_pushcclosure(void *, void *, int), lua_setglobal(void *, const char *), lua_pushinteger(void *, long long), lua_close(void *);
extern int luaL_loadstring(void *, const char *), lua_pcallk(void *, int, int, int, long, void *);
extern long long luaL_checkinteger(void *, int);

static back go;
static unsigned calls;
static void *alloc(void *u, void *p, size_t old, size_t n) {
	if (calls++ % 64 == 0)
		go(n);
	return n ? realloc(p, n) : (free(p), (void *)0);
}
static int function(void *l) { lua_pushinteger(l, go(luaL_checkinteger(l, 1))); return 1; }

int run(back b) {
	go = b;
	void *l = lua_newstate(alloc, 0);
	luaL_openlibs(l);
	lua_pushcclosure(l, function, 0);
	lua_setglobal(l, "ingo");
	int err = luaL_loadstring(l, "local t = {5, 3, 8, 1}; table.sort(t, function(a, b) return ingo(a) < ingo(b) end)"
		"local co = coroutine.wrap(function(a) for i = 1, 3 do a = coroutine.yield(ingo(a) + i) end end) co(1) co(2)"
		"local s = string.gsub('hello world', '(%w+)', function(w) return w .. ingo(#w) end)"
		"local ok = pcall(function() error({ingo(1)}) end) pcall(ingo, 'none')"
		"local m = setmetatable({}, {__index = function(_, k) return ingo(k) end}) local n = m[1] + m[2] // 3.5 "
		"s = string.format('%5.2f %q %s', n, s, tostring(m)) collectgarbage()") || lua_pcallk(l, 0, 0, 0, 0, 0);
	lua_close(l);
	return err;
}
