// Package tablewalk is shared by all strategies with tables from address to
// rule: images and their coverage, runs of frames, a cache of rules, and the
// ways in which a walk ends. A strategy adds its tables ([Tables]) and a
// function that opens those of an image ([Strategy]).
//
// # Addresses
//
// A return address is looked up by the byte before it (on arm64 the instruction
// before it), since the call may be the last of its function; the address of an
// instruction as it is (R9). The frame of a signal's trampoline was never
// called, though it is found as a return address: if the code at the address
// itself is a trampoline's, that counts.
//
// # How a walk ends
//
// [unwind.StopEnd] where the rule for the return address is "undefined" or the
// return address lies below 4096 (R8); [unwind.StopNoRule] where the walk
// enters code without rules or a register that a rule needs is not known;
// [unwind.StopBroken] where a rule's result is impossible.
package tablewalk
