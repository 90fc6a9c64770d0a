package prologue

import (
	"fmt"
	"strings"
)

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
	switch c {
	case Exact:
		return "exact"
	case Likely:
		return "likely"
	}
	return "none"
}

// Rule says how to find the caller at one instruction, before that instruction executes.
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

// Format writes the rule as equations, with the architecture's register names.
func (r Rule) format(a *arch) string {
	if r.Certain == None {
		return "no rule"
	}
	var b strings.Builder
	e := fmt.Sprintf("%s%+d", a.name(r.CFA.Base), r.CFA.Off)
	if r.CFA.Deref {
		e = fmt.Sprintf("[%s]%+d", e, r.CFA.Add)
	}
	fmt.Fprintf(&b, "CFA=%s RA=%s %s=%s", e, a.loc(a.ra, r.RA), a.name(a.fp), a.loc(a.fp, r.FP))
	for _, s := range r.Saved[:r.N] {
		fmt.Fprintf(&b, " %s=%s", a.name(s.Reg), a.loc(s.Reg, s.Loc))
	}
	return b.String()
}

// AMD64String writes a rule that AMD64 returned as equations.
func (r Rule) AMD64String() string { return r.format(&amd64Arch) }

// ARM64String writes a rule that ARM64 returned as equations.
func (r Rule) ARM64String() string { return r.format(&arm64Arch) }

func (a *arch) name(r Reg) string {
	if a.wide {
		switch {
		case r == SP:
			return "sp"
		case r >= D8 && r <= D15:
			return fmt.Sprintf("d%d", r-D8+8)
		}
		return fmt.Sprintf("x%d", r)
	}
	if int(r) < len(amd64Names) {
		return amd64Names[r]
	}
	return fmt.Sprintf("r?%d", r)
}

var amd64Names = [...]string{"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "ra"}

func (a *arch) loc(self Reg, l Loc) string {
	switch l.Kind {
	case Same:
		return a.name(self)
	case InReg:
		return a.name(l.Reg)
	case AtCFA:
		return fmt.Sprintf("[CFA%+d]", l.Off)
	case AtReg:
		return fmt.Sprintf("[%s%+d]", a.name(l.Reg), l.Off)
	}
	return "?"
}
