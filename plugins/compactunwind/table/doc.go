// Package table decodes Apple's compact unwind information, the section
// __TEXT,__unwind_info of Mach-O images: a table from code offsets to encodings
// of 32 bits, one for a function or for a run of functions with the same
// encoding, and the rules that they stand for on x86, x86-64 and arm64.
//
// There is no specification except code: the section's layout and the encodings
// are defined by mach-o/compact_unwind_encoding.h and used by libunwind's
// UnwindCursor.hpp and CompactUnwinder.hpp (LLVM). The usual explanation ("The
// Apple Compact Unwinding Format: Documented and Explained", A. Beingessner,
// 2021) has the fields of the x86 frame encoding, the place of arm64's
// floating-point pairs and the sense of the top bit wrong; the tests here
// compare with llvm-objdump.
//
// Bytes in, values out: the package knows no file format, process or memory. All
// numbers are little-endian; code offsets count from the image's Mach-O header.
//
// # Errors
//
// [Parse] fails if the whole section is unusable. A page that contradicts itself
// makes a hole: its code has no encoding, and [Table.Problems] tells why.
// Nothing panics, and nothing is allocated for counts that the section has no
// room for.
package table
