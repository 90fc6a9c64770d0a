// Package location evaluates DWARF's expressions: where a variable lies, or what it is where it lies nowhere
// (DWARF 5, sections 2.5 and 2.6; DWARF 2 to 4; GNU's operations before version 5).
//
// The stack is typed. An expression has a bounded number of operations and of bytes on its stack, and what it
// rests on is asked of a [Context], whose errors come back as they are: a register that is not known makes a value
// unknown, not zero.
//
// Delve's evaluator (pkg/dwarf/op) does not serve: its stack has no types, it knows neither entry values nor implicit
// pointers, and takes sizes as the file claims them. That of call-frame information (internal/unwind/cfi) knows the operations
// that may occur there, on words, without an allocation; it has none that need a unit, an object or a frame base.
package location
