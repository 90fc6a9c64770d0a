package table

import "github.com/clewdbg/clew/unwind"

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

// maxSaved is the largest number of registers that a rule restores: arm64's nine
// pairs and the frame pointer.
const maxSaved = 19

// Rule finds the caller of a frame in the body of a function. In the prologue
// and the epilogue it is wrong.
//
// Encodings are decoded to it; [Rule.Rule] makes a [rule.Rule] of it. The CFA is the
// value of register Base plus Offset; the caller's stack pointer is the CFA. The
// return address is in memory at CFA - pointer size, or, with InLR, still in the link
// register.
type Rule struct {
	Kind   Kind
	Base   unwind.Register
	Offset int64
	InLR   bool
	// Signed: the return address is signed with the address of an instruction too
	// (FEAT_PAuth_LR). A debugger strips the authentication code either way.
	Signed bool
	// FDE is an offset in the section __eh_frame, for [DWARF].
	FDE uint32

	n     int
	saved [maxSaved]Saved
}

// Saved is a register's place: in memory at CFA + Offset.
type Saved struct {
	Register unwind.Register
	Offset   int64
}

// Saved lists the registers that the function saved, the frame pointer among
// them, by descending address.
func (r *Rule) Saved() []Saved { return r.saved[:r.n] }

func (r *Rule) save(reg unwind.Register, offset int64) {
	r.saved[r.n] = Saved{reg, offset}
	r.n++
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
