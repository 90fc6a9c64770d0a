package stop

import (
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// TestEmptyEnd: only frames at the end are left out, and never all of them.
func TestEmptyEnd(t *testing.T) {
	for _, c := range []struct {
		pcs  []uint64
		want int
	}{
		{nil, 0},
		{[]uint64{0x1000, 0x2000}, 2},
		{[]uint64{0x1000, 0, 0x2000}, 3}, // what follows a jump to 0, or runtime.asmcgocall in Delve's stacks
		{[]uint64{0x1000, 0, 0x2000, 0, 0, 0}, 3},
		{[]uint64{0, 0}, 1}, // a call of a function that is nil
	} {
		var claims []unwind.Frame
		for _, pc := range c.pcs {
			claims = append(claims, unwind.Frame{PC: unwind.Code(pc, unwind.KindReturn)})
		}
		if got := withoutEmptyEnd(claims); len(got) != c.want {
			t.Errorf("%#x: %d frames remain, want %d", c.pcs, len(got), c.want)
		}
	}
}
