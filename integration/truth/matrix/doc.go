//go:build linux && (amd64 || arm64)

// Package matrix measures how right stacks are: Go programs with native code in
// many builds, stopped in many scenarios, shown by Delve and by clew.
//
//	go run ./integration/truth matrix [-json] [-v] [-update] [-build NAME,...] [-scenario NAME]
//	go run ./integration/truth matrix -cores [-json] [-v] [-build NAME,...] [-scenario NAME]
//	go run ./integration/truth matrix -arm64 DIR [-build NAME,...]
//	go run ./integration/truth matrix -built DIR [-here] [-cores] [-json] [-v] [-build NAME,...] [-scenario NAME]
//
// It prints a table: a line for each build and debugger, a column for each
// scenario. -json prints every cell with all counts and reasons, -v the
// faults, -update writes the table into docs/accuracy.md. With -build or -scenario it
// measures a part. -cores has clew show core files of crashes in C. -arm64 builds for
// linux/arm64 on another machine, -built measures there what it has built (integration/arm64).
// With -here the stacks are assembled in the measuring process, by the code that clew stack
// and its plugins have: an emulated machine takes long to start processes. The exit status
// is 0 when everything was measured, 1 when something failed, 2 for wrong usage.
//
// # The comparison
//
// The program is brought to an instruction by a tracer of this command's own
// (package stand), stopped there with all its threads, and let go of. Then a
// debugger attaches to the untouched process, and is asked for the stack of that
// thread. So Delve is shown stops that it would run past by itself (a breakpoint
// instruction in code without a known function). Each debugger gets a process
// of its own at the same instruction.
//
// dlv is Delve's own command line, of the version that clew is built with, run as
// "dlv attach PID --headless" and asked over JSON-RPC: SwitchThread, Stacktrace.
// clew is "clew stack --pid PID --thread TID --format json".
//
// # What counts
//
// Truth is the program's record of itself: the return address and CFA of
// every native function, put together with the Go functions that the scenario
// calls between them. Frames of inlined functions are neither demanded nor counted
// (Delve's are those with the program counter and frame of the next one). Frames
// are matched with the truth so that as many as possible match, in order.
//
//   - right: every frame is there, in order, nothing else, and the stack says
//     that it is complete (Delve: the last frame is marked as the bottom).
//   - truncated 4/13: every shown frame is the true caller of the frame before it,
//     but only 4 of 13 are shown, or the end is not reached.
//   - wrong 8/13: a frame is shown that is not the true caller of the frame before
//     it: it does not exist, or callers between were skipped; 8 of 13 are among
//     those shown. A stack that lacks frames and says it is complete is wrong too.
//   - scanned 9/13, 1 wrong: the same, but every wrong frame has clew's trust
//     "scan", which promises nothing. Delve marks no frame so.
//
// The same holds for both. clew must also have each recorded CFA (its frames with
// trust above "scan") and say rightly whether an address is an instruction or a
// return address; Delve's answers do not say either in a form that could be
// compared. A cell with several stops (leaf, prologue, PLT) is as good as the worst
// of them.
package matrix
