// Package sframe unwinds by SFrame tables, which the GNU assembler writes with
// --gsframe, on amd64, arm64 and s390x. Package internal/unwind/sframe decodes and
// applies them, versions 1 to 3; how it walks is package internal/unwind/tablewalk.
//
// It needs the section and nothing else, and is for programs and libraries that
// have no call-frame information: where .eh_frame is there it says more, of more
// functions and of every register.
//
// # What a caller holds
//
// A program counter, a stack pointer, and the frame pointer. Of other registers
// SFrame does not say whether a function changes them, so they are unknown after
// one step; rules that need them (a realigned stack's base, a return address in
// a register) hold in innermost and interrupted frames only, which is where
// compilers use them.
//
// README.md lists the heuristics, each with its test.
package sframe
