// Package scan is the last resort among the strategies: it looks at the words of
// the stack, one after the other, for one that can be the return address of the
// frame below (R7). It is for code that has no tables, keeps no frame pointer and
// has lost its symbols, on amd64 and arm64.
//
// Old return addresses, of calls that are over, lie on every stack. So a word is
// taken only if
//
//   - the byte before it lies in an image's executable range,
//   - a call instruction ends at it, decoded, on original bytes (or a signal
//     handler's way back begins there),
//   - the called function can lead to the frame below: from the call's target, over
//     jumps, through stubs for dynamically linked functions and tail calls, the code is
//     followed (package internal/unwind/callsite), and a word is refused if it is
//     proven that the frame below cannot be reached.
//
// Where one of the calls shows where the function of the frame below begins, that
// function is simulated (package internal/unwind/prologue), and the layout of its frame
// by that code decides: the word at that very place is taken, and the caller's registers
// are known as well.
//
// All frames have [unwind.TrustScan], whatever the evidence, and a note with that
// evidence. A walk never ends a stack: if nothing is found, it stops with
// [unwind.StopNoRule] and tells where it has searched.
//
// # Input
//
// Code, at addresses that only the stack shows. A walk asks for it as for any
// memory ([unwind.StopMemory]); the host sends original bytes. No image's contents
// are sent beforehand. Code that the host does not have (it sends an empty
// window) proves nothing.
//
// The host limits the number of frames found by scans in a stack: a walk does
// not know the frames before it.
//
// README.md lists the heuristics, each with its test.
package scan
