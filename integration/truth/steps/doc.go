// Package steps single-steps Go programs with C code, and compares the whole
// stack with the truth at every instruction of C that the main thread executes:
//
//	go run ./integration/truth steps [-every N] [-run BUILD] [-whole] [-strategies LIST]
//
// Truth is a shadow stack: from the first instruction of a Go function on, every
// call instruction that is executed pushes its return address and stack pointer,
// and every return pops them, in Go's code and in C's, through every switch of
// stacks. The program's own record must be in the shadow stack as well,
// and no other unwinder is asked. A stack is right when it has every frame, with
// the right stack pointers, down to runtime.goexit, and says that it is complete.
//
// Stacks are assembled in this process, with the strategies that clew has built
// in. Of every few thousand stacks one is assembled with Delve's frames taken
// in, as the command does it, and from a snapshot too: all three must agree.
//
// The other threads stand still meanwhile. Where an instruction would wait for
// one of them the program is killed and started again.
//
// The exit status is 0 when at least 99.9 % of the stacks are right and no frame
// with more trust than a scan is wrong, 1 when not, 2 for wrong usage.
package steps
