package table

import "github.com/clewdbg/clew/unwind"

// Kind says what an encoding tells.
type Kind uint8

// The kinds of rules.
const (
	// Null: nothing. The code may be a leaf by hand, or data.
	Null Kind = iota
	// Steps: the rule says how to find the caller.
	Steps
	// DWARF: the FDE at FDE in __eh_frame says it, or, where FDE is 0, the one
	// that has the code.
	DWARF
)

// maxSaved is the largest number of registers that a rule restores: arm64's nine
// pairs and the frame pointer.
const maxSaved = 19

// Rule says how to find the caller of a frame in the body of a function. In the
// prologue and the epilogue it is wrong.
//
// It is the form that encodings are decoded in; [Rule.Rule] makes a [rule.Rule]
// of it. The CFA is the value of register Base plus Offset; the caller's stack pointer
// is the CFA. The return address is in memory at CFA - pointer size, or, with
// InLR, still in the link register.
type Rule struct {
	Kind   Kind
	Base   unwind.Register
	Offset int64
	InLR   bool
	// Signed says that the return address is signed with the address of an
	// instruction too (FEAT_PAuth_LR). To a debugger that is no different: it
	// strips the code.
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

// Code gives up to n original bytes of the run's code, from an offset from its
// start on. It may give fewer, or none.
type Code func(offset uint32, n int) []byte

// Decode returns the rule that an encoding is for an architecture. The frame sizes
// of some x86 functions are in their code only. The error is an
// [*EncodingError].
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
