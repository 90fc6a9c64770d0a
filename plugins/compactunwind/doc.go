// Package compactunwind is the strategy that unwinds by Apple's compact unwind
// information: the section __TEXT,__unwind_info of Mach-O images, on x86, x86-64
// and arm64. Package table, below, decodes it.
//
// # Limits of the tables
//
// An encoding describes the body of a function. In its prologue and epilogue it
// is wrong, and the DWARF tables that some encodings refer to are no better:
// clang makes them for calls only. So the caller of an innermost frame (and of
// one that a signal interrupted) is found by simulating the function's code from
// its start in LC_FUNCTION_STARTS (package prologue, R4), before any table is
// read. README.md lists every heuristic with its test.
//
// # Input from the host
//
// The image's base is the address of its Mach-O header. Sections go by their
// names; the data of the load command LC_FUNCTION_STARTS is "command:0x26".
package compactunwind
