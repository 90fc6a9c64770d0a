package values

import "testing"

// TestMisplaced: an offset behind that of a register, and then a read, is LLVM's fault; other places are not.
func TestMisplaced(t *testing.T) {
	for code, want := range map[string]bool{
		"\x88\x01\x23\xb0\x02\x06": true,  // 136, plus_uconst 304, deref
		"\x08\x06":                 false, // 8, deref
		"\x08\x06\x23\x08":         false, // 8, deref, plus_uconst 8
		"\x08\x23\x08":             false,
		"\x08\x23":                 false,
		"":                         false,
	} {
		if got := isMisplaced([]byte(code)); got != want {
			t.Errorf("%x: %v", code, got)
		}
	}
}

// TestParts: names are split where no brackets are open.
func TestParts(t *testing.T) {
	for name, want := range map[string]int{"a::b": 2, "T<a::b>::c": 2, "f(a::b)::x": 2, "x": 1, "": 1} {
		if got := parts(name); len(got) != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
