// Package fpwalk unwinds by frame pointers: the chain of records {caller's
// frame pointer, return address} that functions keep on the stack, on amd64
// (C and Go) and arm64 (C).
//
// It needs no tables, so it may be asked about any executable address (R5), JIT
// code included. Its answers are only as good as the code's discipline:
//
//   - In the innermost frame the frame pointer may still be the caller's (at a
//     function's entry, in its prologue or epilogue, in a leaf without a
//     frame). Following it would silently skip the caller (R4), and on arm64
//     the caller may be in the link register (R6). The function's code is
//     simulated to find out (package prologue); where that cannot be done, the
//     step says so and has the trust of a scanned frame.
//   - Code without frame pointers in the middle of a stack is skipped, or ends
//     the walk. Nothing here can see that; strategies with tables rank higher.
//
// A walk ends in two different ways (R8): [unwind.StopEnd], where the chain was
// ended on purpose (a frame pointer of 0, a return address below 4096), and
// [unwind.StopBroken] or [unwind.StopNoRule] with a reason, anywhere else.
//
// The heuristics are listed in README.md, each with its test. Rule numbers (R4)
// are those of clew's rules for ranking and judging strategies.
package fpwalk
