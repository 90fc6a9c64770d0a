package sframe

import "github.com/clewdbg/clew/unwind"

// RuleKind is the base of a rule.
type RuleKind uint8

// The kinds of rules.
const (
	Unchanged    RuleKind = iota // the register has the caller's value still
	Undefined                    // there is no caller
	FromCFA                      // CFA + Offset
	FromRegister                 // Register + Offset
)

// Rule finds a value: its base and offset, and whether the value is that sum or
// the word there. Lookups use this form of 8 bytes; [Row.Rule] makes a [rule.Rule]
// of them.
type Rule struct {
	Kind     RuleKind
	Deref    bool // the word at the sum
	Register unwind.Register
	Offset   int32
}

// Row holds the rules for the addresses in [Start, End).
type Row struct {
	Start, End  uint64
	CFA, RA, FP Rule
	// Mangled: the return address is signed (arm64), by key B if KeyB.
	Mangled, KeyB bool
	// Signal: the caller was interrupted by a signal.
	Signal bool
	// TopOnly: the rules rest on a register that calls overwrite: they hold in a
	// frame that has called no one, or was interrupted.
	TopOnly bool
	// Corrected: the table's rule is known to be wrong here and was corrected
	// (.plt.got, README of plugins/sframe).
	Corrected bool

	arch unwind.Arch
	big  bool
}

// Answer is a table's knowledge of an address.
type Answer uint8

// The answers of [Table.Lookup].
const (
	// Hole: nothing. Other unwind information may have the function.
	Hole Answer = iota
	// Found: a rule.
	Found
	// TopFrameOnly: a rule that holds in a frame that has called no one: the
	// return address is still in a register.
	TopFrameOnly
	// Outermost: the frame has no caller.
	Outermost
	// Doubtful: a rule that the assembler may have written in place of one that it
	// cannot express. It must not be used.
	Doubtful
	// SignalWithoutRule: the frame is a signal's, and the table cannot describe
	// the places of its registers.
	SignalWithoutRule
)

var answerNames = [...]string{"hole", "rule", "top frame only", "outermost", "doubtful", "signal without rule"}

// String names the answer.
func (a Answer) String() string {
	if int(a) < len(answerNames) {
		return answerNames[a]
	}
	return "unknown"
}

// answer is the kind of answer that a row is.
func (r *Row) answer() Answer {
	switch {
	case r.RA.Kind == Undefined:
		return Outermost
	case r.TopOnly:
		return TopFrameOnly
	}
	return Found
}

// restsOn reports whether a rule needs a register other than stack pointer and
// frame pointer.
func (r Rule) restsOn(arch unwind.Arch) bool {
	return r.Kind == FromRegister && r.Register != arch.SP() && r.Register != arch.FP()
}
