package stepping

import (
	"fmt"

	"github.com/clewdbg/clew/server/stepping/lines"
	"github.com/clewdbg/clew/unwind"
)

// Command is a step that a user asks for.
type Command uint8

// The steps.
const (
	Next    Command = iota // to the next line of the same function, or to its caller
	StepIn                 // to the next line anywhere
	StepOut                // to the caller
)

// String names the command as the debug adapter protocol does.
func (c Command) String() string { return [...]string{"next", "stepIn", "stepOut"}[c] }

// Frames is how many physical frames of the stack a decision looks at: the
// innermost one, its caller, and one more, without which the caller's CFA is not
// known. A [Situation] needs no more of them.
const Frames = 3

// GlueFrames is how many they are where there is glue: a callback has at most some ten
// frames of it.
const GlueFrames = 40

// Situation describes the thread or goroutine that is to step.
type Situation struct {
	Arch unwind.Arch
	// Thread is the thread or goroutine. Its claims are Delve's frames of the same
	// stop, at least [Frames] physical ones where there are as many.
	Thread unwind.Thread
	// Stack is its stack by the assembler, at least [Frames] physical frames.
	Stack unwind.Stack
	// Executable holds every executable mapping.
	Executable unwind.RangeSet
	// Through has the step pass through the glue between Go and C. Where the first of
	// the stack's frames are glue, the stack has [GlueFrames].
	Through bool
	// Call is the address of the call that a [Next] goes into, 0 for none.
	Call uint64
	// Code is the native code, nil where its steps are Delve's: in another process. Native says
	// that the thread stands in it.
	Code   Code
	Native bool
}

// Code is native code. Code of glue has no lines in it where steps pass through glue.
type Code interface {
	lines.Code
	// Find returns the addresses of the functions with a symbol, and Named the functions with lines of a name.
	Find(symbol string) []uint64
	Named(name string) []lines.Function
}

// Action says who does a step, and how.
type Action uint8

// The actions.
const (
	Refuse   Action = iota // no step: see Decision.Reason
	Delegate               // Delve alone
	Assist                 // Delve, with Decision.Caller placed beside its own breakpoints
	Return                 // resume with Decision.Caller placed, and what Decision.Lines awaits, and nothing else
)

// String names the action.
func (a Action) String() string { return [...]string{"refuse", "delegate", "assist", "return"}[a] }

// Decision is how a step is to be done.
type Decision struct {
	Command Command
	Action  Action
	// Caller is where the innermost frame returns to, for Assist and Return.
	Caller Temporary
	// Reason says why the step is refused, or why Delve does not do it alone.
	Reason string
	// Through has the step pass through glue: it does not end there, and a step into
	// ends where the code of the other language begins that this line calls.
	Through bool
	// Thread and Goroutine are what steps, 0 for none.
	Thread, Goroutine uint64
	// SP is the innermost frame's stack pointer, 0 if it is not known: where a frame with a
	// higher one goes on without a return, the innermost one was left.
	SP uint64
	// Into is the call that a [Next] goes into; nil for none.
	Into *Into
	// Code is the situation's, and Native says that the step begins in it. Lines is its way by lines, nil where it has none: a
	// step out, or a function without lines.
	Code   Code
	Native bool
	Lines  *lines.Step
}

// Armed says whether the step needs breakpoints of clew's, as far as that is known before
// the code of the line is looked at.
func (d *Decision) Armed() bool {
	return d.Action != Refuse && (d.Action != Delegate || d.Through || d.Into != nil)
}

// Err is a [*RefusedError] where the step is refused, nil otherwise.
func (d *Decision) Err() error {
	if d.Action != Refuse {
		return nil
	}
	return &RefusedError{Command: d.Command, Reason: d.Reason}
}

// RefusedError says why a step is not done. The program has not run.
type RefusedError struct {
	Command Command
	Reason  string
}

// Error names the step and the reason.
func (e *RefusedError) Error() string { return fmt.Sprintf("%s refused: %s", e.Command, e.Reason) }

// Temporary is a breakpoint for one return of one activation: it counts when
// PC is reached with the stack pointer that the return leaves, on the right
// stack. Deeper activations of the same function return with a lower stack
// pointer, other threads have other stacks.
type Temporary struct {
	PC uint64
	// SP is the stack pointer after the return (on amd64 the CFA of the frame that
	// returns).
	SP uint64
	// Thread is the thread whose stack SP lies on; 0 where OnGoroutine is set,
	// because goroutines change threads.
	Thread uint64
	// Goroutine is the goroutine that runs, 0 for none.
	Goroutine uint64
	// OnGoroutine says that SP lies on the goroutine's own stack, which moves when
	// it grows: what counts then is the distance from its upper end, StackHigh at
	// the time of the decision.
	OnGoroutine bool
	StackHigh   uint64
}

// Matches says whether a thread that has come to PC has returned from the
// activation. thread is its ID, sp its stack pointer; goroutine and high, the
// upper end of that goroutine's stack, are those of what runs on it now.
func (t *Temporary) Matches(thread, sp, goroutine, high uint64) bool {
	if t.OnGoroutine {
		return goroutine == t.Goroutine && high-sp == t.StackHigh-t.SP
	}
	return thread == t.Thread && sp == t.SP
}
