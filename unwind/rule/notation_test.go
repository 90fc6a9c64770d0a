package rule_test

import (
	"fmt"
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// TestNotation writes each variant.
func TestNotation(t *testing.T) {
	same := rule.Value{From: rule.Same}
	expr := &fixed{ops: "rbp-8,deref"}
	for _, tt := range []struct {
		rule rule.Rule
		want string
	}{
		{rule.FramePointer(unwind.AMD64), "cfa=rbp+16; ra=[cfa-8]; fp=[cfa-16]"},
		{rule.FramePointer(unwind.ARM64), "cfa=x29+16; ra=[cfa-8]; fp=[cfa-16]"},
		{rule.FramePointer(unwind.I386), "cfa=ebp+8; ra=[cfa-4]; fp=[cfa-8]"},
		{rule.Entry(unwind.AMD64), "cfa=rsp+8; ra=[cfa-8]; fp=unchanged"},
		{rule.Entry(unwind.ARM64), "cfa=sp; ra=x30; fp=unchanged"},
		{rule.Rule{Arch: unwind.AMD64}, "cfa=undefined; ra=undefined; fp=undefined"},
		{rule.Rule{Arch: unwind.AMD64, RA: rule.Value{From: rule.Undefined}, FP: same}, "cfa=undefined; ra=undefined; fp=undefined"},
		{rule.Rule{Arch: unwind.AMD64, CFA: rule.In(7, 8), RA: same, FP: rule.In(1, 0)}, "cfa=rsp+8; ra=undefined; fp=rdx"},
		{rule.Rule{Arch: unwind.AMD64, CFA: rule.At(6, -8), Add: 8, RA: rule.AtCFA(0), FP: rule.Value{From: rule.CFA, Offset: -16}}, "cfa=[rbp-8]+8; ra=[cfa]; fp=cfa-16"},
		{rule.Rule{Arch: unwind.AMD64, CFA: rule.Value{From: rule.Expression, Expr: expr}, RA: rule.AtCFA(-8), FP: rule.Value{From: rule.Expression, Deref: true, Expr: expr}},
			"cfa=expr:rbp-8,deref; ra=[cfa-8]; fp=[expr:rbp-8,deref]"},
		{rule.Rule{Arch: unwind.S390X, CFA: rule.In(15, 160), RA: same, FP: rule.Value{From: rule.Expression}}, "cfa=r15+160; ra=r14; fp=expr:"},
	} {
		if got := tt.rule.String(); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
	r := body()
	r.Saved = []rule.Saved{{Register: 3, Value: rule.AtCFA(-16)}, {Register: 7, Value: same}, {Register: 12, Value: same}, {Register: 13}}
	if got := fmt.Sprint(r.Equations()); got != "{rsp+32 [cfa-8] unchanged [{rbx [cfa-16]} {r12 unchanged} {r13 undefined}]}" {
		t.Error(got)
	}
}

// TestEqual: rules that find the same caller by the same way, and others.
func TestEqual(t *testing.T) {
	saved := func(list ...rule.Saved) rule.Rule {
		r := body()
		r.Saved = list
		return r
	}
	with := func(change func(*rule.Rule)) rule.Rule {
		r := body()
		change(&r)
		return r
	}
	at := func(reg unwind.Register, v rule.Value) rule.Saved { return rule.Saved{Register: reg, Value: v} }
	same := rule.Value{From: rule.Same}
	expr := func(ops string) rule.Rule {
		return saved(at(3, rule.Value{From: rule.Expression, Expr: &fixed{ops: ops}}))
	}
	for name, tt := range map[string]struct {
		a, b rule.Rule
		want bool
	}{
		"itself":                     {body(), body(), true},
		"unchanged and kept":         {saved(at(3, same)), body(), true},
		"in itself":                  {saved(at(3, rule.In(3, 0))), body(), true},
		"lost and undefined":         {saved(at(3, rule.Value{})), saved(at(3, rule.Value{From: rule.Undefined})), true},
		"lost and kept":              {saved(at(3, rule.Value{})), body(), false},
		"another order":              {saved(at(3, rule.AtCFA(-16)), at(12, rule.AtCFA(-24))), saved(at(12, rule.AtCFA(-24)), at(3, rule.AtCFA(-16))), true},
		"another place":              {saved(at(3, rule.AtCFA(-16))), saved(at(3, rule.AtCFA(-24))), false},
		"the value, not the word":    {saved(at(3, rule.AtCFA(-16))), saved(at(3, rule.Value{From: rule.CFA, Offset: -16})), false},
		"one more":                   {saved(at(3, rule.AtCFA(-16))), body(), false},
		"a register that calls lose": {saved(at(0, same)), body(), false},
		"flags do not count":         {saved(at(33, rule.AtCFA(-16))), body(), true},
		"another CFA":                {with(func(r *rule.Rule) { r.CFA.Offset = 40 }), body(), false},
		"another register's CFA":     {with(func(r *rule.Rule) { r.CFA.Register = 6 }), body(), false},
		"another return address":     {with(func(r *rule.Rule) { r.RA.Offset = -16 }), body(), false},
		"no caller":                  {with(func(r *rule.Rule) { r.RA = rule.Value{From: rule.Undefined} }), with(func(r *rule.Rule) { r.RA = rule.Value{} }), false},
		"another frame pointer":      {with(func(r *rule.Rule) { r.FP = rule.AtCFA(-16) }), body(), false},
		"on a condition":             {with(func(r *rule.Rule) { r.FP = rule.Value{From: rule.CFA, Deref: true, When: rule.Pointed} }), with(func(r *rule.Rule) { r.FP = rule.AtCFA(0) }), false},
		"nothing kept":               {with(func(r *rule.Rule) { r.Kept = false }), body(), false},
		"a signal's":                 {with(func(r *rule.Rule) { r.Signal = true }), body(), false},
		"another architecture":       {rule.FramePointer(unwind.AMD64), rule.FramePointer(unwind.ARM64), false},
		"the same expression":        {expr("a"), expr("a"), true},
		"another expression":         {expr("a"), expr("b"), false},
		"a word plus":                {with(func(r *rule.Rule) { r.CFA.Deref, r.Add = true, 8 }), with(func(r *rule.Rule) { r.CFA.Deref = true }), false},
	} {
		if tt.a.Equal(&tt.b) != tt.want || tt.b.Equal(&tt.a) != tt.want {
			t.Errorf("%s: %v and %v, want %v", name, tt.a.Equal(&tt.b), tt.b.Equal(&tt.a), tt.want)
		}
	}
	a, b := body(), body()
	if b.CFA = rule.In(6, 16); a.Equal(&b) || !a.EqualPlaces(&b) {
		t.Error("places do not depend on the CFA's register")
	}
}
