// Package delve holds a session of Delve's on a local process (launch or attach),
// and reads what the assembler needs at a stop: registers of every thread,
// goroutines, stack segments, memory with breakpoints removed, and Delve's own frames
// as claims. It also runs Delve's command line unchanged ([RunCommandLine]). Beside
// it only server/terminal imports Delve, for its server and terminal, and
// server/remote, as a client of such a server; what clew relies on of Delve's insides
// is in package internals.
//
// Where Go came with a library, Delve may know neither the goroutines nor which one a
// thread runs. Both are read here by the library's own DWARF and thread-local word
// (tlsslot.go). Test: in integration, TestGoInLibrary, here and in dap.
//
// Delve waits for any child (wait4(-1)), so one process holds at most one live
// session.
package delve
