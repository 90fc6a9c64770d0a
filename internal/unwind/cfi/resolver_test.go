package cfi_test

import (
	"testing"

	"github.com/clewdbg/clew/internal/unwind/cfi"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
	"github.com/clewdbg/clew/unwind/stackasm"
)

// TestResolver: the tables of glibc's _dl_runtime_resolve on arm64 count from the pair with the
// return address on; the caller's stack pointer is above it.
func TestResolver(t *testing.T) {
	const before, after = 0x40_8880, 0x40_1230
	for _, tt := range []struct {
		name    string
		program []byte // cfa=sp+N, x8 at [cfa-16], ra at [cfa+8], as readelf shows them
		sp      string
		lr      uint64
	}{
		{"at its call", []byte{0x0e, 32, 0x88, 2, 0x11, 30, 0x7f}, "frame", before},
		{"with the pair alone", []byte{0x11, 30, 0x7f}, "pair", before},
		{"at its end", []byte{0x13, 2, 0x11, 30, 0x7f}, "cfa", after},
	} {
		s := stackasm.New(unwind.ARM64, stack).Mark("frame").Word(1, 2, 3, 4).Mark("pair").Word(0x1f000, after).Mark("cfa").Word(0xbad, 0xbad)
		c, m, err := unwindOne(t, unwind.ARM64, tt.program, s, stackasm.Values{"sp": stackasm.At(tt.sp), "x30": stackasm.Num(tt.lr), "x29": stackasm.Num(0)}, rule.Frame{})
		pc, _ := c.Registers.PC(unwind.ARM64)
		if cfa := m.Addr("cfa"); err != nil || pc != after || c.CFA != cfa {
			t.Errorf("%s: pc %#x, CFA %#x, %v; want %#x", tt.name, pc, c.CFA, err, cfa)
		}
	}
	// What a signal's trampoline restores lies above its CFA.
	row := rowAt(t, cfi.New(section(unwind.ARM64, []byte{0x11, 30, 0x7f}), cfi.Options{Arch: unwind.ARM64}), code)
	row.Signal = true
	if r := row.Rule(); r.CFA != rule.In(unwind.ARM64.SP(), 0) || r.RA != rule.AtCFA(8) {
		t.Errorf("a signal's: %s", row)
	}
}
