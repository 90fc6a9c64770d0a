package unwind

// Rejection is a candidate that a strategy offered and the host did not
// believe, with the reason (R2, R3). PC and CFA are 0 where the strategy gave
// none.
type Rejection struct {
	Strategy string
	Reason   string
	PC       uint64
	CFA      uint64
}

// Frame is one physical or inlined frame of an assembled stack. What can be
// unknown is marked by a Has field or by its zero value.
type Frame struct {
	// How the frame was found.
	PC       CodeAddr
	Strategy string
	Trust    Trust
	// Shown says that the code of the function that this frame has called shows the
	// step to this frame to be right, where no table or symbol does: though its
	// trust is a scan's, it is no guess. It is set for the innermost frame's caller
	// only.
	Shown bool

	// The frame's registers as far as they were recovered: its PC, SP, FP and,
	// where the strategies gave them, callee-saved registers.
	Registers Registers

	// How the frame is left towards its caller. CFA is 0 where no strategy knew
	// (the last frame of a truncated stack). Rejected lists candidates for the
	// caller that were not believed.
	CFA      uint64
	Rule     string // "cfa=rbp+16; ra=[cfa-8]; fp=[cfa-16]"
	Rejected []Rejection

	// Segment is the index of the frame's stack segment, -1 if unknown.
	Segment int

	// What the frame is called.
	Function string
	File     string
	Line     int
	Image    string // path or name
	Offset   uint64 // PC - image base, where Image is set
	// Described says that the compiler's own tables (DWARF) have the function, place and
	// inlined calls of code that is not Go's: these words count before a debugger's.
	Described bool

	Inlined bool // no physical frame of its own: lies in the next one
	// DelveFrame is the frame's index in Delve's own stack, -1 where Delve has
	// no such frame (R15).
	DelveFrame int
	Notes      []string
}

// StopKind says how a stack ends. End and truncation are different values (R8).
type StopKind uint8

// The ways in which a stack ends.
const (
	// Truncated means that the walk stopped before a known outermost frame.
	Truncated StopKind = iota
	// End means that the last frame is a known outermost frame.
	End
)

// String gives the kind's name in JSON.
func (k StopKind) String() string {
	if k == End {
		return "end"
	}
	return "truncated"
}

// Stack is an assembled stack, innermost frame first.
type Stack struct {
	Thread    uint64 // 0 if unknown
	Goroutine uint64 // 0 if none
	Frames    []Frame
	Stop      StopKind
	// Reason says why the stack is truncated, or by what its end is known.
	Reason string
	// DepthLimited is set when the walk was stopped by a limit on its depth.
	DepthLimited bool
	// Notes are about the stack as a whole (images that could not be used,
	// plugins that failed).
	Notes []string
}
