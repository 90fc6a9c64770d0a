// Package delve is the only code of clew that imports Delve. It holds a
// session on a local process (launch or attach), and gives what the assembler
// needs at a stop: registers of every thread, goroutines, stack segments,
// memory with breakpoints removed, and Delve's own frames as claims. It also
// runs Delve's command line unchanged ([RunCommandLine]).
//
// Delve waits for any child (wait4(-1)), so one process holds at most one live
// session.
package delve
