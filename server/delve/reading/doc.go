// Package reading reads a program at its stop, through Delve and by itself: threads and goroutines with their registers and stacks, the frames and
// variables that Delve knows, names of global variables. It also writes: memory, registers, and frames that clew has recovered into the
// stacks that Delve remembers, so that Delve shows their variables.
//
// Where Go came with a library, Delve may know neither the goroutines nor which one a
// thread runs. Both are read here by the library's own DWARF and thread-local word
// (tlsslot.go). Test: in integration, TestGoInLibrary, also in integration/dap.
package reading
