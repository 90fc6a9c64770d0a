// Package stoptest has a program for tests that need a stopped program and no
// live one: threads with Go and C code, stacks in memory, a debugger that has
// frames of its own, and an unwinder for the C code.
package stoptest
