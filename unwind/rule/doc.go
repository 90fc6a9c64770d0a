// Package rule says how the caller of a frame is found: one value for what DWARF
// call-frame information, SFrame, compact unwind information and a function's own
// code say of an instruction, one way to apply it, one way to write it.
//
//	cfa=rsp+16; ra=[cfa-8]; fp=[cfa-16]
//
// The CFA (canonical frame address) is the caller's stack pointer. A [Value] says
// where the CFA, the return address, the frame pointer or a saved register is
// found: in a register, at an offset from the CFA or from a register, in memory
// there, or by a DWARF [Expression].
//
// [Rule.Apply] computes the caller's registers from a frame's registers and
// memory. It checks all arithmetic (R10), removes pointer authentication codes
// (R11), refuses a link register that a call has overwritten (R10), and asks once
// for all memory that the rule reads. [Frame.CheckStack], [Caller.CheckEnd] and
// [Caller.CheckCode] then say whether such a caller can exist (R3, R4, R6, R8).
//
// The package knows no processes and no formats. Nothing in it panics, and a rule
// is not changed once it is made.
//
// # How a new table strategy produces a rule
//
// Decode an address's entry of the table into a [Rule]: CFA, RA and FP; every other
// register that the table has a value for in Saved; Kept where the table says
// nothing of a register that the C ABI makes functions keep because the function
// leaves it alone. Signal is for frames that were interrupted. Leave out of the
// rule what the table does not say: the zero [Value] is "lost", never a guess.
// Return the rule from the strategy's tablewalk.Tables; what applies it, checks it
// and shows it is there already.
package rule
