package simulate

import (
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// Row is a rule that was found by simulation, for one instruction.
type Row struct {
	rule.Rule
	// Sure: all paths through the code agree; otherwise the rule is only likely.
	Sure bool
	// Body: the instruction lies in the function's body, where the tables' rule
	// for the function holds too. Framed: the frame pointer, too, points to the
	// frame's record there.
	Body, Framed bool
}

// Way is how a frame came to its place.
type Way uint8

// The ways.
const (
	// Stopped: the instruction at the place was not executed yet.
	Stopped Way = iota
	// Waiting: in a call, which returns to the place.
	Waiting
	// CallingGo is Stopped, in a function that may call Go code, which preserves
	// fewer registers than C does.
	CallingGo
	ways
)

// architectures are those whose code is simulated, with a function for each way.
var architectures = map[unwind.Arch][ways]func(code []byte, start, pc uint64) (prologue.Rule, prologue.Verdict){
	unwind.AMD64: {prologue.AMD64, prologue.AMD64Waiting, prologue.AMD64CallingGo},
	unwind.ARM64: {prologue.ARM64, prologue.ARM64Waiting, prologue.ARM64},
}

// At simulates a function from its first instruction on, at start, and returns
// the rule at pc: nil if there is none, with the reason. code holds original
// bytes, from start to the function's end or some way beyond pc.
func At(arch unwind.Arch, way Way, code []byte, start, pc uint64) (row *Row, reason string) {
	find := architectures[arch][way]
	if find == nil {
		return nil, "code of " + arch.String() + " is not simulated"
	}
	found, verdict := find(code, start, pc)
	return newRow(arch, &found, verdict)
}

// InBody is [At] for a function in whose body, as a table says, the CFA is a
// register plus an offset. That settles which frame code has that is reached by
// indirect jumps only: targets of jump tables, landing pads of exceptions.
func InBody(arch unwind.Arch, code []byte, start, pc uint64, base unwind.Register, offset int64) (row *Row, reason string) {
	find := prologue.AMD64Body
	if arch == unwind.ARM64 {
		find = prologue.ARM64Body
	}
	found, verdict := find(code, start, pc, prologue.Expr{Base: prologue.Reg(base), Off: offset})
	return newRow(arch, &found, verdict)
}

func newRow(arch unwind.Arch, found *prologue.Rule, verdict prologue.Verdict) (*Row, string) {
	if verdict.Kind == prologue.Unknown || found.Certain == prologue.None {
		return nil, verdict.Reason
	}
	framed := verdict.Kind == prologue.Body
	return &Row{Rule: found.Rule(arch), Sure: found.Certain == prologue.Exact, Body: framed || verdict.Kind == prologue.BodyNoFP, Framed: framed}, ""
}

// Finds reports whether the CFA is a register plus an offset by the rule, too.
func (r *Row) Finds(base unwind.Register, offset int64) bool {
	return r.CFA == rule.In(base, offset)
}
