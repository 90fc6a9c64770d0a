package unwind_test

import (
	"slices"
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// TestArchitectures: what is known of each architecture fits together.
func TestArchitectures(t *testing.T) {
	for a := unwind.AMD64; a <= unwind.S390X; a++ {
		if back, err := unwind.ParseArch(a.String()); err != nil || back != a {
			t.Errorf("%v: %v, %v", a, back, err)
		}
		for _, reg := range []unwind.Register{a.PC(), a.SP(), a.FP()} {
			if back, ok := a.ParseRegister(a.RegisterName(reg)); !ok || back != reg || !reg.Held() {
				t.Errorf("%v: register %d is %q, %d, held %v", a, reg, a.RegisterName(reg), back, reg.Held())
			}
		}
		saved := a.CalleeSaved()
		if slices.Contains(saved, a.SP()) || slices.Contains(saved, a.PC()) || slices.Contains(saved, a.LR()) ||
			saved != nil && !slices.Contains(saved, a.FP()) || !slices.IsSorted(saved) {
			t.Errorf("%v: callee-saved %v", a, saved)
		}
		if !a.Canonical(unwind.LowestCode) || a.InKernel(unwind.LowestCode) || a.StackAlignment()%uint64(a.PointerSize()) != 0 {
			t.Errorf("%v: the bounds of addresses", a)
		}
	}
	for _, a := range []unwind.Arch{unwind.ArchUnknown, 77} {
		if a.PC() != unwind.NoRegister || a.CalleeSaved() != nil || a.PointerSize() != 8 || a.ByteOrder() == nil || a.RegisterName(3) != "reg3" {
			t.Errorf("%v is known", a)
		}
		if _, err := unwind.ParseArch(a.String()); err == nil {
			t.Errorf("%v can be read", a)
		}
	}
}
