// Package steps has steps end where package stepping has decided that they do: with breakpoints of clew's beside those of Delve's step, where a frame
// returns to (temporary.go), where a line's code goes on in the other language (crossing.go, calls.go), where the lines of native code lead
// (bylines.go), and where a frame is left by an exception or longjmp (escape.go).
package steps
