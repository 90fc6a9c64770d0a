//go:build linux && (amd64 || arm64)

package sampled

// variant is a way to build the workload of drivers/variants.c.
type variant struct{ compiler, flags string }

// bare leaves no tables and no frame pointers.
const bare = "-w -shared -fPIC -g0 -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-exceptions "

// variants are built once with their symbols, and once without.
var variants = []variant{
	{"gcc", "-O0"}, {"gcc", "-O1"}, {"gcc", "-O2"}, {"gcc", "-O3"}, {"gcc", "-Os"}, {"gcc", "-Og"},
	{"gcc", "-O2 -flto"},
	{"gcc", "-O2 -fcf-protection"},
	{"gcc", "-O2 -mindirect-branch=thunk -mfunction-return=thunk -fcf-protection=none"},
	{"gcc", "-O2 -mindirect-branch=thunk-inline -mfunction-return=thunk-inline -fcf-protection=none"},
	{"gcc", "-O2 -fsplit-stack"},
	{"gcc", "-O2 -fstack-clash-protection -fstack-protector-all"},
	{"gcc", "-O2 -mstackrealign"},
	{"gcc", "-O2 -maccumulate-outgoing-args"},
	{"gcc", "-O3 -mavx2 -funroll-loops"},
	{"gcc", "-O2 -fno-plt -fno-jump-tables"},
	{"gcc", "-O2 -fno-omit-frame-pointer"},
	{"gcc", "-O2 -mcmodel=large"},
	{"gcc", "-O2 -fasynchronous-unwind-tables"}, // after all
	{"clang-14", "-O0"}, {"clang-14", "-O2"}, {"clang-14", "-Os"},
	{"clang-14", "-O2 -mretpoline"},
	{"clang-19", "-O1"}, {"clang-19", "-O2"}, {"clang-19", "-O3"}, {"clang-19", "-Oz"},
	{"clang-19", "-O2 -fcf-protection"},
	{"clang-19", "-O2 -mretpoline"},
	{"clang-19", "-O2 -mstackrealign"},
	{"clang-19", "-O2 -fstack-clash-protection -fstack-protector-all"},
	{"clang-19", "-O2 -mavx2"},
	{"clang-19", "-O2 -fno-omit-frame-pointer"},
	{"clang-19", "-O2 -mcmodel=large"},
	{"clang-19", "-O2 -fasynchronous-unwind-tables"},
	{"clang-14", "-O2 -mspeculative-load-hardening"},
	{"clang-19", "-O2 -mspeculative-load-hardening"},
}
