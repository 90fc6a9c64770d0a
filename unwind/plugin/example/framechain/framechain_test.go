package framechain

import (
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/conformance"
)

// TestConformance is what a third party's plugin should have: the suite, and at
// least one stack that the strategy can walk.
func TestConformance(t *testing.T) {
	for _, arch := range []unwind.Arch{unwind.AMD64, unwind.ARM64} {
		t.Run(arch.String(), func(t *testing.T) {
			walk, err := conformance.FrameRecords(arch, 20)
			if err != nil {
				t.Fatal(err)
			}
			conformance.Run(t, func() unwind.Unwinder { return &Unwinder{} }, conformance.Options{Walks: []conformance.Walk{walk}})
		})
	}
}
