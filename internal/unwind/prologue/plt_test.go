package prologue

import "testing"

// TestPLTFirst: the first entry of a procedure linkage table is entered with one
// word more than a function; the others, and code that only begins like it, not.
func TestPLTFirst(t *testing.T) {
	const (
		oneWord  = "cfa=rsp+16; ra=[cfa-8]; fp=unchanged"
		twoWords = "cfa=rsp+24; ra=[cfa-8]; fp=unchanged"
	)
	for _, jump := range []string{"ff25e42f0000 0f1f4000", "f2ff25e42f0000 0f1f00"} {
		check64(t, "ff35e22f0000"+jump, at{off: 0, kind: Prologue, rule: oneWord}, at{off: 6, kind: BodyNoFP, rule: twoWords})
	}
	// jmp *slot; and what is behind it: push index; jmp to the first.
	check64(t, "ff25e22f0000", at{off: 0, kind: Prologue, rule: leafRule})
	check64(t, "6800000000 e9e0ffffff", at{off: 0, kind: Prologue, rule: leafRule}, at{off: 5, kind: BodyNoFP, rule: oneWord})
	// push global; call function; pop; ret
	check64(t, "ff35e22f0000 e800100000 58 c3", at{off: 0, kind: Prologue, rule: leafRule}, at{off: 6, kind: BodyNoFP, rule: oneWord})
}
