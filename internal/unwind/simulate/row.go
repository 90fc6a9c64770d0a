package simulate

import (
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// Row is a rule that was found by simulation, for one instruction.
type Row struct {
	rule.Rule
	// Body: the instruction lies in the function's body, where the tables' rule
	// for the function holds too.
	Body bool
}

// architectures are those whose code is simulated.
var architectures = map[unwind.Arch]func(code []byte, start, pc uint64, body prologue.Expr) (prologue.Rule, prologue.Verdict){
	unwind.AMD64: prologue.AMD64Body,
	unwind.ARM64: prologue.ARM64Body,
}

// At simulates a function from its first instruction on, at start, and returns
// the rule at pc: nil if there is none, with the reason. code holds original
// bytes, from start to the function's end or some way beyond pc. sure is false
// where the rule is only likely.
func At(arch unwind.Arch, code []byte, start, pc uint64) (row *Row, sure bool, reason string) {
	return at(arch, code, start, pc, prologue.Expr{})
}

// InBody is [At] for a function in whose body, as a table says, the CFA is a
// register plus an offset. That settles which frame code has that is reached by
// indirect jumps only: targets of jump tables, landing pads of exceptions.
func InBody(arch unwind.Arch, code []byte, start, pc uint64, base unwind.Register, offset int64) (row *Row, sure bool, reason string) {
	return at(arch, code, start, pc, prologue.Expr{Base: prologue.Reg(base), Off: offset})
}

func at(arch unwind.Arch, code []byte, start, pc uint64, cfa prologue.Expr) (row *Row, sure bool, reason string) {
	find := architectures[arch]
	if find == nil {
		return nil, false, "code of " + arch.String() + " is not simulated"
	}
	found, verdict := find(code, start, pc, cfa)
	if verdict.Kind == prologue.Unknown || found.Certain == prologue.None {
		return nil, false, verdict.Reason
	}
	body := verdict.Kind == prologue.Body || verdict.Kind == prologue.BodyNoFP
	return &Row{Rule: found.Rule(arch), Body: body}, found.Certain == prologue.Exact, ""
}

// Finds reports whether the CFA is a register plus an offset by the rule, too.
func (r *Row) Finds(base unwind.Register, offset int64) bool {
	return r.CFA == rule.In(base, offset)
}
