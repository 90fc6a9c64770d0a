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
	text := func(v *Value, add int64, same string) string { return string(r.write(nil, v, add, same)) }
	if eq.CFA, eq.RA, eq.FP = undefined, undefined, undefined; !r.outermost() {
		eq.CFA, eq.RA, eq.FP = text(&r.CFA, r.Add, undefined), text(&r.RA, 0, r.link()), text(&r.FP, 0, unchanged)
	}
	for i := range r.Saved {
		if s := &r.Saved[i]; s.Register != r.Arch.SP() {
			eq.Saved = append(eq.Saved, Equation{r.Arch.RegisterName(s.Register), text(&s.Value, 0, unchanged)})
		}
	}
	return eq
}

// String writes CFA, return address and frame pointer as [unwind.Step] has them:
// "cfa=rbp+16; ra=[cfa-8]; fp=[cfa-16]".
func (r *Rule) String() string {
	if r.outermost() {
		return "cfa=undefined; ra=undefined; fp=undefined"
	}
	var buf [80]byte
	out := r.write(append(buf[:0], "cfa="...), &r.CFA, r.Add, undefined)
	out = r.write(append(out, "; ra="...), &r.RA, 0, r.link())
	out = r.write(append(out, "; fp="...), &r.FP, 0, unchanged)
	return string(out)
}

// Whole is [Rule.String] with the other registers that have values behind it: "cfa=rsp+16; ra=[cfa-8]; fp=unchanged; rbx=[cfa-16]".
func (r *Rule) Whole() string {
	out := r.String()
	for _, s := range r.Equations().Saved {
		out += "; " + s.Register + "=" + s.Value
	}
	return out
}

// outermost: there is no caller.
func (r *Rule) outermost() bool { return r.RA.From == Undefined && r.CFA.From == Lost }

// link is the notation of a return address that is in the link register.
func (r *Rule) link() string {
	if lr := r.Arch.LR(); lr != unwind.NoRegister {
		return r.Arch.RegisterName(lr)
	}
	return undefined
}

// write appends a value; same stands for a register that keeps its value. add is
// added to the word that was read.
func (r *Rule) write(out []byte, v *Value, add int64, same string) []byte {
	if v.Deref && v.From >= CFA {
		out = append(out, '[')
	}
	switch v.From {
	case Same:
		return append(out, same...)
	case CFA:
		out = sum(append(out, "cfa"...), v.Offset)
	case Register:
		out = sum(append(out, r.Arch.RegisterName(v.Register)...), v.Offset)
	case Expression:
		out = append(out, "expr:"...)
		if v.Expr != nil {
			out = append(out, v.Expr.String()...)
		}
	default:
		return append(out, undefined...)
	}
	if v.Deref {
		return sum(append(out, ']'), add)
	}
	return out
}

// sum appends an offset to a base: "cfa", "cfa-8", "cfa+8".
func sum(out []byte, off int64) []byte {
	if off > 0 {
		out = append(out, '+')
	}
	if off != 0 {
		out = strconv.AppendInt(out, off, 10)
	}
	return out
}
