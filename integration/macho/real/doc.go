// Package real compares package plugins/compactunwind/table with llvm-objdump on
// Mach-O files that Apple's tools made: native parts of public npm packages,
// which npm fetches:
//
//	go run ./integration/truth macho [-keep DIR]
//
// For every image (slice of a universal file) it compares each entry, personality
// and language-specific data area, and looks every entry up by its first and last
// byte. Then, behind every call in a function, the encoding's rule (CFA, return
// address, saved registers) is compared with a simulation of the function's code:
// two sources that know nothing of each other.
//
// It needs npm and llvm-objdump-19, and prints the table that
// plugins/compactunwind/README.md has. The exit status is 0 without a difference
// to llvm-objdump, 1 with one, 2 for wrong usage.
package real
