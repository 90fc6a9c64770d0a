package rule

import (
	"strconv"

	"github.com/clewdbg/clew/unwind"
)

// Equations are a rule's values as they are shown: `rsp+16`, `[cfa-8]`, `cfa-16`,
// `rdx`, `x30` (still in the link register), `unchanged`, `undefined`,
// `expr:...` (a value) or `[expr:...]` (the word there).
type Equations struct {
	CFA, RA, FP string
	Saved       []Equation // the other registers that have values, without the stack pointer
}

// Equation is the value of one register.
type Equation struct{ Register, Value string }

const (
	unchanged = "unchanged"
	undefined = "undefined"
)

// Equations writes the rule's values.
func (r *Rule) Equations() Equations {
	var eq Equations
	eq.CFA, eq.RA, eq.FP = r.three()
	for i := range r.Saved {
		if s := &r.Saved[i]; s.Register != r.Arch.SP() {
			eq.Saved = append(eq.Saved, Equation{r.Arch.RegisterName(s.Register), r.text(&s.Value, unchanged)})
		}
	}
	return eq
}

// String writes CFA, return address and frame pointer as [unwind.Step] has them:
// "cfa=rbp+16; ra=[cfa-8]; fp=[cfa-16]".
func (r *Rule) String() string {
	cfa, ra, fp := r.three()
	return "cfa=" + cfa + "; ra=" + ra + "; fp=" + fp
}

func (r *Rule) three() (cfa, ra, fp string) {
	if r.RA.From == Undefined && r.CFA.From == Lost { // an outermost frame
		return undefined, undefined, undefined
	}
	link := undefined
	if lr := r.Arch.LR(); lr != unwind.NoRegister {
		link = r.Arch.RegisterName(lr)
	}
	cfa = r.text(&r.CFA, undefined)
	if r.CFA.Deref && r.Add != 0 {
		cfa = sum(cfa, r.Add)
	}
	return cfa, r.text(&r.RA, link), r.text(&r.FP, unchanged)
}

// text writes a value; same stands for a register that keeps its value.
func (r *Rule) text(v *Value, same string) string {
	var s string
	switch v.From {
	case Same:
		return same
	case CFA:
		s = sum("cfa", v.Offset)
	case Register:
		s = sum(r.Arch.RegisterName(v.Register), v.Offset)
	case Expression:
		s = "expr:"
		if v.Expr != nil {
			s += v.Expr.String()
		}
	default:
		return undefined
	}
	if v.Deref {
		return "[" + s + "]"
	}
	return s
}

// sum writes a base and an offset: "cfa", "cfa-8", "cfa+8".
func sum(base string, off int64) string {
	switch {
	case off == 0:
		return base
	case off > 0:
		return base + "+" + strconv.FormatInt(off, 10)
	}
	return base + strconv.FormatInt(off, 10)
}
