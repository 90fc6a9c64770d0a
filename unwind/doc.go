// Package unwind is the domain of clew: registers, code addresses, frames,
// trust, stack segments, images, coverage, and the contract between the host
// that assembles a stack and the strategies that unwind it.
//
// It knows no debugger, no protocol and no file format. A strategy implements
// [Unwinder]; it may run in the host's process or in one of its own (package
// unwind/plugin serves it there, package unwind/wire has the messages).
//
// # Addresses
//
// An [InstructionAddr] is the address of the next instruction to execute (in
// the innermost frame, or in a frame that a signal interrupted). A [ReturnAddr]
// is the address at which a caller resumes. The two are looked up differently
// (rule R9), so they have different types; a [CodeAddr] is either, with its
// kind. Addresses are kept raw: the adjusted [LookupAddr] is only for lookups
// and is never stored or exported.
//
// # Frames
//
// A frame's PC, strategy and trust tell how the frame was found. Its CFA and
// rule tell how its caller was found. A stack ends in one of two ways, which
// are different values (rule R8): [End] at a known outermost frame, or
// [Truncated] anywhere else, with the reason.
//
// # Trust
//
// From low to high (rule R1): none, scan, frame pointer, call-frame
// information (SFrame, compact unwind, DWARF, Go's own tables), context (the
// registers themselves).
package unwind
