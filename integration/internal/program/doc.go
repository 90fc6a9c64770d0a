// Package program builds and judges the program that integration tests and the
// matrix of stacks are about: Go that calls C that knows its own stack
// (testdata/native), in many builds.
//
// Truth is what the program records about itself, never another unwinder: every
// C function enters its own return address and CFA into a record, which is
// written out before the program stops (Record, Expect). A stack is right when it
// holds exactly the recorded addresses, in order, with the Go functions that the
// scenario names between them and nothing else (Findings). A Stand holds the
// program at one instruction, for debuggers to attach to.
package program
