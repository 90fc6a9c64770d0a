package table

import (
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// Kind is the kind of an encoding.
type Kind uint8

// The kinds of rules.
const (
	// Null: no rule. The code may be a hand-written leaf, or data.
	Null Kind = iota
	// Steps: the rule finds the caller.
	Steps
	// DWARF: the FDE at FDE in __eh_frame has the rule, or, where FDE is 0, the
	// one for this code.
	DWARF
)

// Rule finds the caller of a frame in the body of a function. In the prologue
// and the epilogue it is wrong.
type Rule struct {
	// Rule is that of [Steps]. A register that the function has not saved is its
	// caller's where the C ABI makes functions keep it.
	rule.Rule
	Kind Kind
	// InLR: the return address is still in the link register.
	InLR bool
	// Signed: the return address is signed with the address of an instruction too
	// (FEAT_PAuth_LR). A debugger strips the authentication code either way.
	Signed bool
	// FDE is an offset in the section __eh_frame, for [DWARF].
	FDE uint32
}

// steps is a rule whose CFA is the value of a register plus an offset, with the
// return address below it, and room for n saved registers.
func steps(arch unwind.Arch, base unwind.Register, offset int64, n int) Rule {
	return Rule{Kind: Steps, Rule: rule.Rule{
		Arch: arch, Kept: true, CFA: rule.In(base, offset), RA: rule.AtCFA(-int64(arch.PointerSize())), FP: rule.Value{From: rule.Same},
		Saved: make([]rule.Saved, 0, n),
	}}
}

// save adds a register that the function saved at an offset from the CFA.
func (r *Rule) save(reg unwind.Register, offset int64) {
	if reg == r.Arch.FP() {
		r.FP = rule.AtCFA(offset)
		return
	}
	r.Saved = append(r.Saved, rule.Saved{Register: reg, Value: rule.AtCFA(offset)})
}

// Code returns up to n original bytes of the run's code, from an offset from
// its start on. It may return fewer, or none.
type Code func(offset uint32, n int) []byte

// Decode returns the rule of an encoding on an architecture. The frame sizes of
// some x86 functions are in their code only. The error is an [*EncodingError].
func (e Encoding) Decode(arch unwind.Arch, code Code) (Rule, error) {
	if e.Null() {
		return Rule{}, nil
	}
	switch arch {
	case unwind.AMD64:
		return e.decodeX86(&x86_64, code)
	case unwind.I386:
		return e.decodeX86(&x86, code)
	case unwind.ARM64:
		return e.decodeARM64()
	}
	return Rule{}, encodingError(e, "%v has no compact unwind encodings", arch)
}
