// Package native answers questions about code that is not Go's, wherever it lies, in a library or in the C, C++ and Rust part
// of a Go executable: which functions a name means, where the code of a source line begins, where a
// function has stored its arguments, which lines its instructions are of.
//
// It asks the files of the images (package symbols), which keep what they have read. It knows nothing of Delve, nor of
// what asks it. A [Code] is of one [codemap.Map], as that is of one stop.
//
// # Rules
//
//   - A name means every function that it is the end of: all overloads, all instances of a template, each copy that is
//     inlined, in all images. Arguments of templates and parameters count where they are given. Parts that a compiler has moved
//     out of a function (.cold) are no functions of their own.
//   - A line means its rows that are statements; where it has none, the next line of the file that has some, as in GDB. Of
//     each function, each instance of a template and each inlined copy only the first address counts.
//   - An address before the end of a function's prologue stands for that end ([Function.Body]).
//   - The prologue ends where the compiler says so (DW_LNS_set_prologue_end). Else, in code with lists of locations, at once:
//     its debugging information knows arguments from the first instruction on. Else at the second row of the line table,
//     as GCC means it. Else where the code has made its frame. Never behind the first call or jump.
package native
