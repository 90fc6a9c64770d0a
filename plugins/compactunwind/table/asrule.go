package table

import (
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// Rule makes a rule of [Steps]. A register that the function has not saved is
// its caller's where the C ABI makes functions keep it.
func (r *Rule) Rule(arch unwind.Arch) rule.Rule {
	out := rule.Rule{Arch: arch, Kept: true, CFA: rule.In(r.Base, r.Offset),
		RA: rule.AtCFA(-int64(arch.PointerSize())), FP: rule.Value{From: rule.Same}}
	if r.InLR {
		out.RA = rule.Value{From: rule.Same}
	}
	if r.n > 0 {
		out.Saved = make([]rule.Saved, 0, r.n)
	}
	for _, s := range r.Saved() {
		if s.Register == arch.FP() {
			out.FP = rule.AtCFA(s.Offset)
			continue
		}
		out.Saved = append(out.Saved, rule.Saved{Register: s.Register, Value: rule.AtCFA(s.Offset)})
	}
	return out
}
