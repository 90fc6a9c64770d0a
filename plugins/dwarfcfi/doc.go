// Package dwarfcfi unwinds by DWARF call-frame information: .eh_frame, with or
// without .eh_frame_hdr, and .debug_frame, on amd64 and arm64 (C, C++, Rust and
// Go). Package internal/unwind/cfi decodes and applies it.
//
// It needs the sections: compilers describe every instruction, prologues and
// epilogues included. Only where arm64 tables were made for calls (clang 14) is the
// code of an innermost frame's function simulated. Its answers are as good as the
// tables. Hand-written assembly may have none, or wrong ones; the host judges every
// step. How it walks is package internal/unwind/tablewalk.
//
// # Registers of a caller
//
// A caller holds the registers that the rules recover, and the callee-saved ones
// of the C ABI without a rule. The others are unknown after one step. On arm64
// the link register is unknown after one step too, since the call has
// overwritten it (R10), except where a signal interrupted the caller.
//
// README.md lists the heuristics, each with its test.
package dwarfcfi
