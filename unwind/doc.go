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
// An [InstructionAddr] is where the processor is (the innermost frame, or a
// frame that a signal interrupted). A [ReturnAddr] is where it will go on. The
// two are looked up differently (rule R9), so they are different types; a
// [CodeAddr] is one or the other and says which. Addresses are kept raw: the
// adjusted [LookupAddr] is for looking up only and is never stored or exported.
//
// # Frames, and what is said of them
//
// A frame's PC, strategy and trust say how the frame was found. Its CFA and
// rule say how it is left towards its caller. A stack ends in one of two ways,
// which are different values (rule R8): [End], a known outermost frame, or
// [Truncated], anything else, with the reason.
//
// # Trust
//
// From low to high (rule R1): none, scan, frame pointer, call-frame
// information (SFrame, compact unwind, DWARF, Go's own tables), context (the
// registers themselves).
package unwind
