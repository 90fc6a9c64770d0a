// Package sframe unwinds by SFrame tables, which the GNU assembler writes with
// --gsframe, on amd64, arm64 and s390x. Package sframe decodes and
// applies them, versions 1 to 3; how it walks is package internal/unwind/tablewalk.
//
// It needs the section and nothing else, and is for programs and libraries
// without call-frame information: .eh_frame covers more functions and every
// register.
//
// # Registers of a caller
//
// A caller holds a program counter, a stack pointer and a frame pointer. SFrame
// does not record whether a function changes other registers, so they are
// unknown after one step; rules that need them (a realigned stack's base, a
// return address in a register) hold in innermost and interrupted frames only,
// which is where compilers use them.
//
// README.md lists the heuristics, each with its test.
package sframe
