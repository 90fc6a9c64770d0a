// Package codemodel knows the code of one image: where functions begin, which calls
// come back, and where at each instruction the caller's registers are, with the grade
// of proof.
//
// It is pure: bytes in, rules out. It is built lazily, a function at a time, and
// what it keeps is bounded. Addresses are the file's own; where the image is loaded
// is the caller's business.
//
// # What is proven
//
// A rule is proven if a path leads to its instruction from a start that is sure, over
// branches, jump tables with a bound and calls that come back, and no path
// disagrees (package prologue, Survey). A call comes back if a return can be reached
// in the called function, again over what is proven. Behind a call into another image,
// or through a pointer, the grade is [prologue.Some]: if that call never comes back,
// the code behind it may be reached by other ways. Code that only indirect jumps
// without a bound lead to, and landing pads of exceptions, have no rule.
//
// What is no proof, and not used: padding before an address, pointers to code (labels
// of computed gotos look the same), endbr64 (which landing pads have too).
package codemodel
