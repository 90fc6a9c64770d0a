package prologue

// Reg is a register by its DWARF number on the architecture in question (System V AMD64 ABI, figure 3.36; DWARF for
// the Arm 64-bit architecture, section 4.1).
type Reg uint8

// Registers that rules commonly name.
const (
	RBX Reg = 3
	RBP Reg = 6
	RSP Reg = 7
	R12 Reg = 12
	R15 Reg = 15

	X19 Reg = 19
	X28 Reg = 28
	X29 Reg = 29
	X30 Reg = 30
	SP  Reg = 31 // arm64
	D8  Reg = 72
	D15 Reg = 79
)

// Expr computes an address: Base+Off, or, if Deref, the 8-byte word at Base+Off, plus Add.
type Expr struct {
	Base  Reg
	Off   int64
	Deref bool
	Add   int64
}

// LocKind says how a caller's register value is found.
type LocKind uint8

const (
	// Lost: the value is nowhere that the code lets us know.
	Lost LocKind = iota
	// Same: still in the register itself.
	Same
	// InReg: in register Reg.
	InReg
	// AtCFA: in memory at CFA+Off.
	AtCFA
	// AtReg: in memory at Reg+Off (a realigned frame, whose distance from the CFA is only known at run time).
	AtReg
)

// Loc is where a caller's register value is.
type Loc struct {
	Kind LocKind
	Reg  Reg
	Off  int64
}

// Saved names a callee-saved register whose caller's value is not in the register itself.
type Saved struct {
	Reg Reg
	Loc Loc
}

// MaxSaved is the largest number of callee-saved registers besides the frame pointer (arm64: x19-x28, d8-d15).
const MaxSaved = 18

// Certainty of a rule.
type Certainty uint8

const (
	// None: there is no rule.
	None Certainty = iota
	// Likely: the code is reached only through jumps whose targets are not in the code, or some instruction on the
	// way could not be decoded.
	Likely
	// Exact: every path from the entry over direct branches agrees.
	Exact
)

func (c Certainty) String() string {
	return [...]string{"none", "likely", "exact"}[c]
}

// Rule says how to find the caller at one instruction, before that instruction executes. It is the form that is
// comparable and fits the simulation; [Rule.Rule] makes a [rule.Rule] of it.
// The caller's SP is the CFA. Signed says that the return address may carry a pointer authentication code at this
// point; it is to be stripped on arm64 in any case.
type Rule struct {
	CFA     Expr
	RA      Loc
	FP      Loc
	Certain Certainty
	Signed  bool
	N       int // number of entries of Saved in use
	Saved   [MaxSaved]Saved
}

// Kind classifies the place of the PC in its function.
type Kind uint8

const (
	// Unknown: no rule; Verdict.Reason says why.
	Unknown Kind = iota
	// Prologue: at the entry or before the last instruction that builds the frame.
	Prologue
	// Epilogue: only instructions that take the frame down are left before the return or tail jump.
	Epilogue
	// Body: the frame pointer is established at the record {caller's frame pointer, return address}.
	Body
	// BodyNoFP: no frame pointer; the stack pointer's distance from the CFA is known.
	BodyNoFP
)

func (k Kind) String() string {
	return [...]string{"unknown", "prologue", "epilogue", "body", "body without frame pointer"}[k]
}

// Verdict is the outcome of an analysis. Reason is empty unless Kind is Unknown.
type Verdict struct {
	Kind   Kind
	Reason string
}

func (v Verdict) String() string {
	if v.Reason != "" {
		return v.Kind.String() + ": " + v.Reason
	}
	return v.Kind.String()
}
