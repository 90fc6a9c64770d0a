// Package gotab decodes .gopclntab, the table by which Go's own runtime finds
// functions, stack depths and lines. It is in every Go binary, a stripped one
// too, and covers every instruction that the Go tool chain produced, assembly
// included.
//
// It reads the format of Go 1.20 to 1.26 (magic 0xfffffff1). Sources:
// internal/abi/symtab.go (magic, flags), runtime/symtab.go (pcHeader, pcvalue,
// moduledata), runtime/runtime2.go (_func), runtime/symtabinl.go (inline tree)
// and cmd/link/internal/ld/pcln.go (the writer).
//
// The package is a decoder: bytes in, values out. It knows no files and no
// processes. Addresses are link-time addresses (ELF vaddr); the caller adds the
// load bias.
//
// # Where the text starts
//
// The table holds offsets from runtime.text and not addresses. The header had
// a textStart word up to Go 1.25; in position-independent binaries it is zero
// in the file (a dynamic relocation fills it), and from Go 1.26 on it is always
// zero. The start of the section .text is no substitute: an external linker
// puts C start code in front (crt1.o, PLT stubs), so that runtime.text lies
// some hundred bytes higher. These hold in all cases, in this order:
//
//  1. the symbol runtime.text (gone when stripped);
//  2. runtime.firstmoduledata.text; [Table.FindModule] recognises a moduledata
//     by its contents and returns that word (section .go.module in Go 1.26,
//     somewhere in .noptrdata before);
//  3. the header's word ([Table.HeaderText]), where it is not zero.
//
// The table has a section of its own (.gopclntab), except in some
// position-independent programs of Go before 1.26: see [Find].
//
// Parse with textStart 0 first, find the true value, then use
// [Table.WithTextStart]. Programs whose text was split into several sections
// (ppc64, 32-bit ARM and darwin/arm64 when larger than a branch reaches) are
// right in their first section only.
//
// # SP deltas
//
// An SP delta is the number of bytes by which SP lies below its value at the
// function's first instruction, valid before the instruction at that PC
// executes. Where a call pushes the return address (amd64, 386) the CFA is
// SP + delta + pointer size; where it stays in a link register (arm64, s390x)
// the CFA is SP + delta. In a function with [FlagSPWrite] the delta is not to
// be trusted: it switches stacks in ways that the table cannot express.
package gotab
