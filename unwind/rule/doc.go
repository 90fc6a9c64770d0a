// Package rule holds the rule by which the caller of a frame is found. DWARF
// call-frame information, SFrame, compact unwind information and the simulation
// of a function's code all produce this one value; there is one way to apply it
// and one way to write it.
//
//	cfa=rsp+16; ra=[cfa-8]; fp=[cfa-16]
//
// The CFA (canonical frame address) is the caller's stack pointer. A [Value] is
// the place of the CFA, the return address, the frame pointer or a saved
// register: in a register, at an offset from the CFA or from a register, in
// memory there, or by a DWARF [Expression].
//
// [Rule.Apply] computes the caller's registers from a frame's registers and
// memory. It checks all arithmetic (R10), removes pointer authentication codes
// (R11), refuses a link register that a call has overwritten (R10), and asks once
// for all memory that the rule reads. [Frame.CheckStack], [Caller.CheckEnd] and
// [Caller.CheckCode] then check whether such a caller can exist (R3, R4, R6, R8).
//
// The package knows no processes and no formats. Nothing in it panics, and a rule
// is not changed once it is made.
//
// # How a new table strategy produces a rule
//
// Decode the table's entry for an address into a [Rule]: CFA, RA and FP; in Saved
// every other register that the table has a value for; in Kept every callee-saved
// register of the C ABI that the table omits because the function does not change
// it. Signal is for frames that were interrupted. Leave everything that the table
// does not describe out of the rule: the zero [Value] is "lost", never a guess.
// [Rule.Apply] makes the caller of it, and [Rule.String] writes it for the step; the checks of [Frame] and [Caller] say whether such a
// caller can exist. That is all a walk needs, in clew's tree and outside of it.
package rule
