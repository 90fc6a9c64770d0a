package unwind

// Rejection is a strategy's candidate that the host rejected, with the reason
// (R2, R3). PC and CFA are 0 where the strategy set none.
type Rejection struct {
	Strategy string
	Reason   string
	// Check is the host's check that refused it, and Rule the rules that the check applies:
	// "order" and "R3, R10". Both are empty where that was not noted.
	Check string
	Rule  string
	PC    uint64
	CFA   uint64
}

// By names the check and its rules, "order, R3, R10"; it is empty where they are not known.
func (r *Rejection) By() string {
	if r.Check == "" || r.Rule == "" {
		return r.Check + r.Rule
	}
	return r.Check + ", " + r.Rule
}

// Frame is one physical or inlined frame of an assembled stack. Optional values
// are marked by a Has field or by their zero value.
type Frame struct {
	// How the frame was found.
	PC       CodeAddr
	Strategy string
	Trust    Trust
	// Shown marks a step to this frame that the callee's code proves right, where
	// no table or symbol does: although its trust is that of a scan, it is no
	// guess. It is set for the innermost frame's caller only.
	Shown bool

	// The frame's registers, as far as they were recovered: its PC, SP, FP and,
	// where the strategies recover them, callee-saved registers.
	Registers Registers

	// How the caller was found. CFA is 0 if no strategy found it (the last frame
	// of a truncated stack), or if only the caller is known and not its stack
	// pointer (arm64, R12). Rejected lists the rejected candidates for the
	// caller.
	CFA      uint64
	Rule     string // "cfa=rbp+16; ra=[cfa-8]; fp=[cfa-16]"
	Rejected []Rejection

	// Segment is the index of the frame's stack segment, -1 if unknown.
	Segment int

	// The frame's names.
	Function string
	File     string
	Line     int
	Column   int    // 0 if unknown
	Image    string // path or name
	Offset   uint64 // PC - image base, where Image is set
	// Group is not empty for code that the process has generated and that nothing names:
	// the words for one row that stands for it and the frames beside it with the same.
	Group string

	Inlined bool // not a physical frame: lies in the next one
	// TailCall says that the function jumped to the one of the frame before, and its own
	// frame is gone. It has no address: PC, CFA and registers are those of the frame
	// that called it. Inlined is set, too.
	TailCall bool
	// DelveFrame is the frame's index in Delve's own stack, -1 where Delve has
	// no such frame (R15).
	DelveFrame int
	Notes      []string
}

// SameRow reports whether one row stands for this frame and the one before it.
func (f *Frame) SameRow(before *Frame) bool { return f.Group != "" && f.Group == before.Group }

// StopKind is the way a stack ends. End and truncation are different values
// (R8).
type StopKind uint8

// The ways in which a stack ends.
const (
	// Truncated means that the walk stopped before a known outermost frame.
	Truncated StopKind = iota
	// End means that the last frame is a known outermost frame.
	End
)

var stopKindNames = [...]string{"truncated", "end"}

// String returns the kind's name in JSON.
func (k StopKind) String() string { return nameOf(stopKindNames[:], k, "stop") }

// Stack is an assembled stack, innermost frame first.
type Stack struct {
	Thread    uint64 // 0 if unknown
	Goroutine uint64 // 0 if none
	Frames    []Frame
	Stop      StopKind
	// Reason tells why the stack is truncated, or why its end is known.
	Reason string
	// DepthLimited is set when the walk was stopped by a limit on its depth.
	DepthLimited bool
	// Notes are about the stack as a whole (images that could not be used,
	// plugins that failed).
	Notes []string
	// ThreadName is the thread's name in the system, "" if it is not known. State is
	// the goroutine's, nil if it is not known.
	ThreadName string
	State      *State
}

// CutOff reports whether the stack ends before its outermost frame, for another reason than
// the number of frames that was asked for.
func (s *Stack) CutOff() bool { return s.Stop == Truncated && !s.DepthLimited }
