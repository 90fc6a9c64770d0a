package stackjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/clewdbg/clew/internal/printable"
	"github.com/clewdbg/clew/internal/unwind/jsonread"
)

// FieldError is a problem with one value, with its place.
type FieldError = jsonread.FieldError

// SyntaxError is a text that is not JSON, with the first wrong byte.
type SyntaxError = jsonread.SyntaxError

// Address is package jsonread's.
type Address = jsonread.Address

// Errors that a [*FieldError] can wrap.
var (
	ErrMissing = jsonread.ErrMissing // a required field is not there
	ErrTwice   = jsonread.ErrTwice   // a field is there twice
	ErrBudget  = jsonread.ErrBudget  // the values would take too much memory
)

// Kind is the kind of a frame's pc.
type Kind string

// The kinds of frames.
const (
	KindPC    Kind = "pc"    // innermost, or interrupted by a signal
	KindRA    Kind = "ra"    // a return address, found by unwinding
	KindAsync Kind = "async" // where an asynchronous task will resume
)

var parseKind = oneOf("kind of frame", KindPC, KindRA, KindAsync)

// oneOf returns the parser of a name that must be a known one.
func oneOf[T ~string](what string, known ...T) func(string) (T, error) {
	return func(s string) (T, error) {
		if slices.Contains(known, T(s)) {
			return T(s), nil
		}
		return "", fmt.Errorf("unknown %s %q (known: %s)", what, s, strings.Trim(strings.ReplaceAll(fmt.Sprint(known), " ", ", "), "[]"))
	}
}

// Trust is the name of a level of trust.
type Trust string

// The levels of trust; "" is unknown.
const (
	TrustContext      Trust = "context" // the innermost frame: the registers themselves
	TrustCFI          Trust = "cfi"
	TrustFramePointer Trust = "frame-pointer"
	TrustScan         Trust = "scan"
)

var parseTrust = oneOf("trust", TrustContext, TrustCFI, TrustFramePointer, TrustScan)

// Stop is the way a stack ends.
type Stop string

// The ways in which stacks end.
const (
	StopEnd       Stop = "end"
	StopTruncated Stop = "truncated"
)

var parseStop = oneOf("stop", StopEnd, StopTruncated)

// Rejected is a rejected candidate for a frame's caller.
type Rejected struct {
	Strategy string  `json:"strategy"`
	Reason   string  `json:"reason"`
	Check    string  `json:"check,omitempty"` // "order"
	Rule     string  `json:"rule,omitempty"`  // "R3, R10", as docs/rules.md numbers them
	PC       Address `json:"pc,omitzero"`     // 0 is unknown
	CFA      Address `json:"cfa,omitzero"`    // 0 is unknown
}

// Frame is a frame. Pointers are nil, and strings, lists and CFA empty, where
// the field is absent.
type Frame struct {
	Index      int                `json:"index"`
	Kind       Kind               `json:"kind"`
	PC         Address            `json:"pc"` // raw: never the adjusted one
	CFA        Address            `json:"cfa,omitzero"`
	SP         *Address           `json:"sp,omitempty"`
	FP         *Address           `json:"fp,omitempty"`
	Function   string             `json:"function,omitempty"`
	File       string             `json:"file,omitempty"`
	Line       int                `json:"line,omitzero"`
	Column     int                `json:"column,omitzero"`
	Image      string             `json:"image,omitempty"`
	Offset     *Address           `json:"offset,omitempty"` // PC - image base
	Strategy   string             `json:"strategy,omitempty"`
	Trust      Trust              `json:"trust,omitempty"`
	Rule       string             `json:"rule,omitempty"` // "cfa=rbp+16; ra=[cfa-8]; fp=[cfa-16]"
	Inlined    bool               `json:"inlined,omitempty"`
	TailCall   bool               `json:"tailCall,omitempty"`
	Group      string             `json:"group,omitempty"` // one row stands for all beside it with the same
	DelveFrame *int               `json:"delveFrame,omitempty"`
	Registers  map[string]Address `json:"registers,omitempty"` // by the architecture's names
	Values     []Value            `json:"values,omitempty"`    // written, and not read back
	Rejected   []Rejected         `json:"rejected,omitempty"`
	Notes      []string           `json:"notes,omitempty"`
}

// Stack is a stack, innermost frame first.
type Stack struct {
	Thread    uint64  `json:"thread,omitzero"`
	Goroutine uint64  `json:"goroutine,omitzero"`
	Frames    []Frame `json:"frames"` // not nil
	Stop      Stop    `json:"stop"`
	Reason    string  `json:"reason,omitempty"`
	// Notes are about the stack as a whole: images that could not be used,
	// strategies that failed.
	Notes      []string `json:"notes,omitempty"`
	ThreadName string   `json:"threadName,omitempty"`
	State      *State   `json:"state,omitempty"`
	// Goroutines and Count are of a stack that stands for several.
	Goroutines []uint64 `json:"goroutines,omitempty"`
	Count      int      `json:"count,omitzero"`
}

// State is what Go's runtime notes of a goroutine.
type State struct {
	Status       string            `json:"status"`
	WaitReason   string            `json:"waitReason,omitempty"`
	WaitSince    string            `json:"waitSince,omitempty"` // RFC 3339; it has waited since then or longer
	LockedThread uint64            `json:"lockedThread,omitzero"`
	Labels       map[string]string `json:"labels,omitempty"`
	CreatedBy    *Creation         `json:"createdBy,omitempty"`
	WaitsOn      Address           `json:"waitsOn,omitzero"`
	Ancestors    []Ancestor        `json:"ancestors,omitempty"`
}

// Ancestor is a goroutine that has started another, with its calls at that time.
type Ancestor struct {
	Goroutine uint64 `json:"goroutine"`
	Calls     []Call `json:"calls"` // not nil
}

// Call is one of them.
type Call struct {
	PC       Address `json:"pc"`
	Function string  `json:"function,omitempty"`
	File     string  `json:"file,omitempty"`
	Line     int     `json:"line,omitzero"`
}

// Creation is the go statement that started a goroutine.
type Creation struct {
	Function  string `json:"function,omitempty"`
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitzero"`
	Goroutine uint64 `json:"goroutine,omitzero"`
}

// Answer is either stacks or an error.
type Answer struct {
	Stacks []Stack `json:"stacks,omitzero"` // nil where there is an error
	Error  string  `json:"error,omitempty"`
}

// Failure is the answer for an error.
func Failure(err error) Answer { return Answer{Error: err.Error()} }

// Marshal returns v as JSON on one line, without a line end. It is the output
// of encoding/json, except that <, > and & stay as they are: they are frequent
// in the names of C++ functions and harmless outside of HTML; and characters that could
// take over a terminal are escaped ([printable.JSON]). Equal values have
// equal bytes.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return printable.JSON(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}
