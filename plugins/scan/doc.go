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
//   - what is called there can lead to the frame below: from the call's target,
//     over jumps, through stubs for dynamically linked functions and tail calls,
//     the code is followed (package internal/unwind/callsite), and a word is refused if
//     it is proven that the frame below cannot be reached.
//
// Where one of the calls shows where the function of the frame below begins, that
// function is simulated (package internal/unwind/prologue), and what its code says of its
// frame decides: the word at that very place is taken, and the caller's registers
// are known as well.
//
// All frames have [unwind.TrustScan], whatever was found out, and a note that
// says what speaks for them. A walk never ends a stack: where nothing is found it
// stops with [unwind.StopNoRule] and says what was looked at.
//
// # What it needs
//
// Code, at addresses that only the stack shows. A walk asks for it as for any
// memory ([unwind.StopMemory]); the host sends original bytes. No image's contents
// are sent beforehand. Code that the host does not have (it sends an empty
// window) proves nothing.
//
// How many frames may be scanned for in a stack is the host's to limit: a walk
// does not know what came before it.
//
// README.md lists the heuristics, each with its test.
package scan
