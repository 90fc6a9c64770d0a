// Package prologue finds the caller of an innermost frame from the code itself: given the original bytes of a
// function from its entry point on and a PC inside it, it returns the places of the CFA, the return address and
// the caller's callee-saved registers at that instruction, before it executes.
//
// An opcode table or a frame pointer describes a function's body. At its entry, in its prologue and epilogue, and in
// a leaf without a frame the frame pointer is still the caller's, and following it silently skips the caller
// (rule R4 of the ranking rules). This package closes that gap for C and C++ code on amd64 and arm64, System V and
// Apple conventions. It knows no process and no image format: it is a pure function of bytes.
//
// # Method
//
// Every instruction is reduced to micro-operations on a small abstract machine (micro.go). A value is the caller's
// value of a register, an address relative to the CFA, an address relative to one dynamic base (a stack pointer that
// was realigned or moved by a run-time amount), a small constant, or unknown (state.go). The state is followed
// forward from the entry over all direct branches, and joined where paths meet (flow.go); where paths disagree the
// value is unknown. The rule is then read off the state at the PC (derive.go). A rule is either right or withheld:
// verdict Unknown comes with a reason.
//
// # Heuristics
//
// Each is listed with the situation, what handles it, and its test.
//
//   - A call that does not return (abort) is followed by code that its state does not reach. A call's continuation
//     is a soft edge: where it contradicts an edge of a jump, or leads to a return with the stack pointer off the
//     return address, the edge is cut and the analysis starts again. TestNoReturnCall.
//   - The targets of an indirect jump are known if it goes by a table whose index has a
//     bound, by a comparison or a mask, and the table can be read (tables.go; Survey
//     only). TestForms in codemodel.
//   - A call over a loop that only a wrong prediction enters is a push (retpolines and
//     return thunks; trapsSpeculation). TestThunks in codemodel.
//   - clang's hardening against speculation puts a number into the stack pointer, and into targets of jump tables, that
//     is 0 on every path that is really taken (opHarden). Entries of 8 bytes may be relative to their table, and calls go
//     to what the code has computed from its own address (-mcmodel=large; Table.Calls). TestForms and TestComputedCalls
//     in codemodel.
//   - Targets of other indirect jumps are unknown. Code that no direct path reaches is tried with the
//     states at the function's indirect jumps and calls (the latter for exception landing pads): a state that
//     contradicts code that is reached, or a return, is refuted; if the rest lead to one and the same rule, its
//     certainty is Likely, else Unknown. TestJumpTable.
//   - Stores through pointers and with an index are taken not to overwrite a saved register or the return address.
//     A program that does so is broken. A store to a known stack address is honoured. TestOverwrittenSlot.
//   - A frame that waits in a call is asked for at the call (AMD64Waiting, ARM64Waiting): behind one that does not
//     return other paths go on, or another function. Calls are found by decoding the bytes before the return
//     address; a walk from the entry reaches one of them. TestWaiting.
//   - A called function is taken to keep the stack pointer and the callee-saved registers.
//   - A call right before "sub %rax,%rsp" probes so much of the stack, and keeps rax (__rust_probestack). TestProbe in
//     codemodel.
//   - A stack-clash probing loop leaves with SP equal to the register that it was compared with. TestStackClashLoop.
//   - The first entry of a procedure linkage table is no function: the entry that jumps to it has pushed a word.
//     It is known by its two instructions, and entered with that word on the stack. TestPLTFirst.
//   - On arm64 the first entry pushes a pair and jumps to the loader's _dl_runtime_resolve, which pops it. That is
//     known by its last instructions, and that it pushes no return address itself. TestResolver.
//   - Code of which nothing tells where it begins is followed the other way, from a frame's place on to its return, with
//     the values that its registers and its stack hold (Ahead). Ways that meet keep what they have in common. Returns at
//     two places, or ways that meet with two stack pointers, show nothing. A call that may not come back ends a way, as
//     long as others lead to a return; a jump that leads anywhere is one out of the function if the stack pointer is
//     that of the return. TestAhead, TestAheadIsBounded.
//   - A call into the middle of the same code starts a local subroutine with a separate frame; a call to the next
//     instruction is a push. TestCallNext.
//
// # Limits
//
// A function beyond 1 MiB or 200,000 instructions, hand-written code that moves its frame about (OpenSSL's multi-way
// kernels), and code reached by indirect jumps whose frame may have two sizes are Unknown. A return address may be in a
// register on amd64 too (InReg: vfork pops it). A saved register may be Lost in a rule that is otherwise right: the code
// has clobbered it, as local helpers of hand-written code do.
//
// # Duties of the caller
//
// The bytes are the original ones, without a debugger's breakpoints. The start is a real entry point: compilers move
// cold parts of a function into separate pieces (symbols ending in ".cold", and their FDEs), which are entered by a
// jump with the frame already built; passing such a piece as a function leads to wrong rules.
package prologue
