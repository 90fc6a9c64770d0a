// Package compactunwind is the strategy that unwinds by Apple's compact unwind
// information: the section __TEXT,__unwind_info of Mach-O images, on x86, x86-64
// and arm64. Package table, below, decodes it.
//
// # What the tables do not say
//
// An encoding describes the body of a function. In its prologue and epilogue it
// is wrong, and the DWARF tables that some encodings refer to are no better:
// clang makes them for calls only. So an innermost frame (and one that a signal
// interrupted) is found by simulating the function's own code, forwards from
// its start as LC_FUNCTION_STARTS has it (package prologue, R4), before any table
// is asked. README.md lists every heuristic with its test.
//
// # What the host sends
//
// The image's base is the address of its Mach-O header. Sections go by their
// names; the data of the load command LC_FUNCTION_STARTS is "command:0x26".
package compactunwind
