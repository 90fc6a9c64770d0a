// Package integration has the tests of clew as its users run it: the command,
// on live programs that are built for the tests.
//
// Truth is what the programs record about themselves, never another unwinder:
// every function of native.c enters its own return address and
// CFA into a record, which is written out before the program stops. A stack is
// right when it holds exactly the recorded addresses, in order, with the Go
// functions that the test names between them and nothing else. A stack whose
// program keeps no frame pointers may end early, but no frame of it may be
// wrong.
package integration
