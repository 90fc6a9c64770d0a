package procfs

import (
	"testing"

	"github.com/clewdbg/clew/imagemap"
)

// TestR11Mask: the mask leaves every mapping's addresses alone, in address spaces of
// every size.
func TestR11Mask(t *testing.T) {
	for _, tc := range []struct {
		end, want uint64
	}{
		{0x40_0000, 0x7f_ff80_0000_0000},        // a static program is all that is known
		{0x7f_ffff_f000, 0x7f_ff80_0000_0000},   // 39 bits
		{0x3ff_ffff_f000, 0x7f_fc00_0000_0000},  // 42
		{0xffff_ffff_f000, 0x7f_0000_0000_0000}, // 48
		{1 << 48, 0x7f_0000_0000_0000},
		{0xf_ffff_ffff_f000, 0x70_0000_0000_0000}, // 52
		{0xffff_ffff_ffff_f000, 0},                // the kernel's
	} {
		got := PACMask([]imagemap.Mapping{{Start: 0x1000, End: tc.end}})
		if got != tc.want || tc.end>>55 == 0 && (tc.end-1)&got != 0 {
			t.Errorf("mappings up to %#x: %#x, want %#x", tc.end, got, tc.want)
		}
	}
	if PACMask(nil) != 0 {
		t.Error("a mask of no mappings")
	}
}
