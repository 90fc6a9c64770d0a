// Package dwarfcfi unwinds by DWARF call-frame information: .eh_frame, with or
// without .eh_frame_hdr, and .debug_frame, on amd64 and arm64 (C, C++, Rust and
// Go). Package unwind/cfi decodes and applies it.
//
// It needs the sections and nothing else: compilers describe every instruction,
// prologues and epilogues included, so no code is looked at. What it says is as
// good as the tables. Hand-written assembly may have none, or wrong ones; the
// host judges every step.
//
// # Addresses
//
// A return address is looked up by the byte before it (on arm64 the instruction
// before it), since the call may be the last of its function; the address of an
// instruction as it is (R9). The frame of a signal's trampoline was never
// called, though it is found as a return address: if the code at the address
// itself is a trampoline's (augmentation S), that counts.
//
// # What a caller holds
//
// Registers that the rules recover, and the callee-saved ones of the C ABI where
// there is no rule for them. The others are unknown after one step. On arm64 the
// link register is unknown after one step too, since the call has overwritten
// it (R10), except where a signal interrupted the caller.
//
// # How a walk ends
//
// [unwind.StopEnd] where the rule for the return address is "undefined" or the
// return address lies below 4096 (R8); [unwind.StopNoRule] where the walk
// enters code without rules or a register that a rule needs is not known;
// [unwind.StopBroken] where a rule gives what cannot be.
//
// README.md lists the heuristics, each with its test.
package dwarfcfi
