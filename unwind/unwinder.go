package unwind

import "context"

// Unwinder is one strategy. The host describes images to it, learns what it
// covers, and asks it to walk; the host ranks strategies and judges every
// frame itself (R3). Implementations must be safe for concurrent Walks, which
// never overlap with Update. They keep no state between walks: a request holds
// all that a walk needs.
//
// "Cannot unwind here" is data ([WalkResult.Stop]); an error means that the
// strategy itself failed.
type Unwinder interface {
	Describe(ctx context.Context) (Description, error)
	// Update tells of images that came and went, and is answered with what the
	// strategy covers of those that came, in the order of delta.Added.
	Update(ctx context.Context, delta ImageDelta) ([]ImageReport, error)
	// Yield names the ranges that higher-ranked strategies serve: a walk stops
	// when it enters one of them ([StopYield]). It replaces earlier ones.
	Yield(ctx context.Context, ranges RangeSet) error
	// Walk answers every request, in order.
	Walk(ctx context.Context, requests []WalkRequest) ([]WalkResult, error)
}

// Description is a strategy's description of itself; the host asks for it
// first.
type Description struct {
	Name    string // lower case letters, digits and dashes; "fpwalk"
	Version string
	Arches  []Arch
	// Trust is the highest trust its frames can have.
	Trust Trust
	// Anywhere says that the strategy may be asked about any executable address,
	// whatever its coverage: frame pointers cross code that no image has (R5).
	Anywhere bool
	// Sections names the sections of images that it wants to be sent.
	Sections []string
	// WantsCode says that walks from an instruction address need the original
	// bytes of the function around it ([WalkRequest.Code]).
	WantsCode bool
}

// WalkRequest asks for the callers of one frame.
type WalkRequest struct {
	Arch      Arch
	Registers Registers
	Kind      PCKind
	// Segment bounds the stack that the frame lies on; zero if unknown.
	Segment Segment
	// Stack holds windows of memory, most of it from SP upwards. A strategy that
	// needs other memory answers with [StopMemory], code at any address included:
	// that comes as the original bytes (breakpoints removed). A window that begins
	// where the strategy asked and holds less, or nothing, says that there is no
	// more to be had: the strategy may go on without; if it asks again, the walk is
	// over.
	Stack Windows
	// Function describes the code around PC where it is known. Where Kind is
	// [KindInstruction] the frame may be half built; where it is [KindReturn] the
	// code still says whether the function keeps a frame pointer at all.
	Function *FunctionCode
	// MaxFrames bounds the number of steps; at least 1.
	MaxFrames int
	// AllRegisters asks for every recovered register of every step; otherwise
	// only the last step's Registers are complete, and the others' hold PC, SP
	// and FP.
	AllRegisters bool
}

// FunctionCode is the function that an instruction address lies in.
type FunctionCode struct {
	// Start is the function's first instruction. Exact is false where it is only
	// the nearest symbol below, so that code before PC may belong to another
	// function.
	Start uint64
	Exact bool
	// Code holds original bytes from Start on (breakpoints removed), through PC
	// and as far as known up to the function's end.
	Code []byte
}

// Step is one step from a frame to its caller.
type Step struct {
	// CFA of the frame that was left. On arm64 it is only a lower bound where Caller has no
	// stack pointer (R12).
	CFA uint64
	// Caller holds the caller's registers, its return address as PC.
	Caller Registers
	// CallerKind is [KindInstruction] when the frame that was left is a signal
	// trampoline, so that the caller was interrupted.
	CallerKind PCKind
	Trust      Trust
	// Rule as an equation; "cfa=rbp+16; ra=[cfa-8]; fp=[cfa-16]".
	Rule string
	// Note is a remark on the step for the user, usually empty.
	Note string
}

// WalkStop says why a walk stopped.
type WalkStop uint8

// The reasons for which walks stop.
const (
	// StopLimit: MaxFrames steps were made.
	StopLimit WalkStop = iota
	// StopEnd: the last caller (or the frame asked about, when there are no
	// steps) is a known outermost frame.
	StopEnd
	// StopMemory: memory or code at WalkResult.Need is wanted to go on.
	StopMemory
	// StopNoRule: the strategy knows nothing of this code.
	StopNoRule
	// StopYield: a higher-ranked strategy serves the caller's code.
	StopYield
	// StopBroken: there is a rule, and its result is impossible.
	StopBroken
)

var walkStopNames = [...]string{"limit", "end", "memory", "no rule", "yield", "broken"}

// String names the reason.
func (s WalkStop) String() string { return nameOf(walkStopNames[:], s, "stop") }

// WalkResult is the answer to one [WalkRequest].
type WalkResult struct {
	Steps []Step
	Stop  WalkStop
	// Reason explains StopEnd, StopNoRule and StopBroken in words.
	Reason string
	// CFA and PC are the values that StopBroken refused, where there are any. A
	// StopEnd with a CFA rests on the return address PC, too low for code (R8), and
	// not on tables.
	CFA, PC uint64
	// Need is the memory that StopMemory asks for.
	Need Range
}
