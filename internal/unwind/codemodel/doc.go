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
// without a bound lead to has no rule.
//
// Landing pads of exceptions are entered with the frame of the calls that throw. Where call-frame
// information is gone, which says where a function's call sites are listed, the lists that are
// left have to fit the functions one to one (pads.go).
//
// # Where functions begin
//
// Symbols and call-frame information say it. Code that neither knows is read as a whole,
// once (find.go): descent from what the loader calls, direct calls in all code, pointers
// to code that descent has not reached as an inside (labels of computed gotos look the
// same), jumps with all as at an entry, on arm64 what begins as a function does right behind a call.
// Jumps with a frame lead to parts that were moved
// away, which are simulated from the state at the jump. Code in gaps is a guess (gap.go).
// No rule is better than its start's grade. endbr64 is not used: landing pads have it too.
package codemodel
