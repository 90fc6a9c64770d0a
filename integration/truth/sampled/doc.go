//go:build linux && (amd64 || arm64)

// Package sampled single-steps workloads in Debian's libraries, under Go and with
// callbacks into Go, and compares whole stacks with the truth at instructions taken at
// random:
//
//	go run ./integration/truth sampled [-libraries z,xml2] [-n 500] [-stripped | -variants | -musl] [-least 99.9] [-o DIR]
//	go run ./integration/truth sampled [-libraries z,xml2] {-arm64 | -built} -o DIR
//	go run ./integration/truth sampled [-show 5] [-cost 9 | -lies 512] [-root DIR] FILE...
//
// Truth is a shadow stack: every call instruction that is executed pushes its return
// address and stack pointer, every return pops them, in C and in Go. No other
// unwinder is asked. Where a word of the stack is not the return address that was pushed,
// nothing is compared.
//
// Each sample is a snapshot (package snapshot) with the memory of all used stack and with the
// true stack beside it. They are written as JSON lines, one file a workload, and judged from
// there, as `clew unwind` does it; a part is judged in the live process too, and both must
// agree. With FILEs, the samples of an earlier run are judged again; -root says where the
// images of another machine are.
//
// With -lies N, FILEs are judged again and again: for each frame of C in turn, and each place up to N bytes above its stack
// pointer, the table of call-frame information says that the CFA lies there. That is done with the models of the code, and
// without them.
//
// With -cost, the time of stacks with the model's check of tables (rule R16) and without it is measured instead.
//
// With -stripped, libraries are copies without .eh_frame and .eh_frame_hdr; the C
// library's own workload has such a copy of the C library. With -variants the workloads
// are one C file, as several compilers and options build it, without tables.
//
// With -musl, the C library's own workload runs above musl, which has neither symbols of its own functions nor tables.
//
// -arm64 builds for linux/arm64 on another machine, -built measures there what it has built:
// see integration/arm64. The workload "go" has no library: it is Go's own assembly.
//
// The exit status is 0 when no stack is wrong with more trust than a scan has, and none
// says that it is complete though frames are missing, and as many are exact as -least says; 1 when not; 2 for wrong usage.
package sampled
