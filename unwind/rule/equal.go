package rule

import (
	"bytes"

	"github.com/clewdbg/clew/unwind"
)

// Equal says whether two rules find the same caller, in every frame, by the same
// way: the same CFA, and each register in the same place. A register without a
// value equals one that is unchanged where the C ABI makes functions keep it. Two
// expressions are equal that have the same operations.
func (r *Rule) Equal(o *Rule) bool {
	return r.CFA.equal(&o.CFA) && (!r.CFA.Deref || r.Add == o.Add) && r.EqualPlaces(o)
}

// EqualPlaces is [Rule.Equal] without the CFA: two rules that find one CFA by
// different registers can have all else in the same places.
func (r *Rule) EqualPlaces(o *Rule) bool {
	if r.Arch != o.Arch || r.Big != o.Big || r.Signal != o.Signal {
		return false
	}
	a, b := r.inRegister(r.RA, r.Arch.LR()), o.inRegister(o.RA, r.Arch.LR())
	if !a.equal(&b) || !r.equalAt(o, r.Arch.FP()) {
		return false
	}
	for _, list := range [][]Saved{r.Saved, o.Saved} {
		for i := range list {
			if reg := list[i].Register; reg != r.Arch.PC() && (reg != r.Arch.LR() || r.Signal) && reg.Held() && !r.equalAt(o, reg) {
				return false
			}
		}
	}
	if r.Kept != o.Kept { // one of them loses registers that the other keeps
		for _, reg := range r.Arch.CalleeSaved() {
			if !r.equalAt(o, reg) {
				return false
			}
		}
	}
	return true
}

func (r *Rule) equalAt(o *Rule, reg unwind.Register) bool {
	a, b := r.inRegister(r.value(reg), reg), o.inRegister(o.value(reg), reg)
	lost := func(v *Value) bool { return v.From == Lost || v.From == Undefined }
	return lost(&a) && lost(&b) || a.equal(&b)
}

// inRegister returns Same for a value that is in the register itself.
func (r *Rule) inRegister(v Value, reg unwind.Register) Value {
	if v.From == Register && !v.Deref && v.Offset == 0 && v.Register == reg {
		return Value{From: Same}
	}
	return v
}

// equal says whether two values are found in the same way.
func (v *Value) equal(o *Value) bool {
	switch {
	case v.From == Undefined || v.From == Lost || v.From == Same:
		return v.From == o.From
	case v.From != o.From || v.Deref != o.Deref || v.When != o.When:
		return false
	case v.From == Expression:
		return v.Expr != nil && o.Expr != nil && bytes.Equal(v.Expr.Operations(), o.Expr.Operations())
	}
	return v.Offset == o.Offset && (v.From != Register || v.Register == o.Register)
}
