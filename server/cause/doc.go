// Package cause says what ended a program: which thread died, by which signal or error, in which frame, and what
// the program itself has said of it.
//
// It reads a program that stands still: at a debugger's stop, in a core file, or while it waits in the write of Go's own
// text of the crash. What is said rests on the kernel's record of the signal (in a core file's notes, or beside the
// registers that it has saved for a handler), on the structures of Go's runtime by their type descriptors, and on what
// the libraries of C and C++ document. What is not proven is not said.
//
// The signal that ends a process need not be the cause: with GOTRACEBACK=crash Go's runtime handles the fault, prints, and
// raises SIGABRT. The stack tells: what interrupted code in the runtime's raise is its own, and the signal further out
// is the cause.
//
// # Parts
//
//   - cause.go: a thread's death, and which thread it is ([Death])
//   - siginfo.go: where a stack says how its thread died
//   - fault.go, access.go, instruction.go: a signal in words
//   - message.go, exception.go: what the program has said
package cause
