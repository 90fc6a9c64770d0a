// Package lines says where a step through native code goes by its lines. It is pure: it gets code, line tables and
// the registers of a thread through interfaces, and answers at which addresses the thread is to be awaited next.
//
// From where a thread stands, the instructions of its line are followed, as far as the code leads by itself ([Step.Start]). The line
// is left where an instruction leads out of it: there the thread is awaited. An instruction whose way only the thread
// knows (a call or a jump through a register) is awaited too, and what it leads to is seen when the thread is there. Where the
// function returns to is not this package's business.
//
// # What ends a step
//
// A step ends at the first instruction of a row of the line table that is a statement of another line. Code without a line (line 0)
// and rows that are no statements are passed. Code in the middle of another line is gone through, to the next line.
//
// Inlined calls are calls: a next passes what its line has inlined, a step into ends at its first statement, a step out leaves the
// instance it stands in. Which they are is told from the chain of inlined functions at each instruction.
//
// A call is entered behind the prologue of a function that has lines: through linkage tables, those that are not
// bound yet (by the jump with which the dynamic linker leaves them, so that indirect functions lead where they lead),
// and through code that only jumps on. A jump out of the function is a call that does not come back.
//
// # Whose activation
//
// The same code may run in a deeper activation, and on other threads. An address counts only with the stack pointer that
// this activation has there: how far that lies below the CFA is known of nearly all code (package codemodel). Where it
// is not, as in functions with alloca, the calls of the line are awaited too, and between a call and its return nothing
// else counts.
package lines
