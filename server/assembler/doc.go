// Package assembler builds stacks: it ranks strategies for every frame, runs
// the best one, judges every step that comes back, falls back to the next
// strategy where a step is refused, and follows Go's stack switches from one
// stack segment to the next.
//
// It is pure: all knowledge of the target comes as values and through two
// narrow interfaces (memory at one stop, and the code map). The same input
// makes the same stack, live or from a snapshot.
//
// # One walk
//
// The innermost frame is the thread's registers. Then, until the stack ends
// (walk.go reads from top to bottom like this):
//
//  1. A known outermost function ends the stack cleanly (R8, ends.go).
//  2. A frame in Go code is left by Go's own tables (strategy gopclntab), at a
//     stack switch by the state that the runtime keeps of the other stack (R14,
//     switch.go).
//  3. Any other frame goes to the strategies that cover its lookup address, by
//     rank, in runs: one call for many frames.
//  4. For every step the evidence is gathered (evidence.go) and judged by an
//     ordered list of checks (R3, checks.go). The first refused step cuts the run;
//     the refusal is kept for the user, and the next strategy tries.
//  5. If no strategy knows the caller, Delve's own candidate is tried and judged
//     alike.
//  6. If that fails too, the stack is truncated, with the reasons.
//
// A CFA must be above every CFA seen before in its segment, so no walk can
// visit a frame twice: every walk ends.
package assembler
