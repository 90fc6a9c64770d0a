// Package macho has tests of strategy compactunwind against the truth, on Linux:
// Mach-O code that clang and ld64.lld made for macOS is mapped by a small loader
// (testdata/loader.c) and single-stepped, on x86-64 under ptrace, on arm64 under
// qemu's debug stub.
//
// # Programs
//
// Each is generated from a seed: a chain of nested functions with every kind of
// frame that compilers make (shapes_test.go), some in assembler with saved
// registers in any order (asm_test.go), in two libraries, one half of the functions
// compiled with frame pointers and the other without.
//
// # Truth
//
// Calls and returns that are executed make a shadow stack, which holds the return
// address, the stack pointer and every callee-saved register at the time of each
// call; at every return they are checked to be as they were. The return
// addresses that the program notes itself are checked to be in it. At every
// instruction on the way down and up the strategy alone is asked for the whole
// stack, and every frame of it is compared.
//
// # How to run it
//
// The tests run one round for each architecture. CLEW_MACHO=full runs all levels
// of optimization with several seeds, and prints the table that
// plugins/compactunwind/README.md has:
//
//	CLEW_MACHO=full go test -v -timeout 1h -run TestEveryInstruction ./integration/macho
package macho
