// Package lsda reads .gcc_except_table: for each function of C++ with landing pads an area that
// says which calls lead to which landing pad when they throw. Format: "Exception Handling Tables"
// of the Itanium C++ ABI's first edition, and gcc's except.c (output_function_exception_table).
//
// Call-frame information says where a function's area begins. Without it the areas are found one
// behind the other: what lies behind an area's call sites has no length of its own, so the next
// header that makes sense is taken.
package lsda
