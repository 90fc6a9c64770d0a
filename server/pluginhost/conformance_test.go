package pluginhost

import (
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/conformance"
)

// TestConformance runs the suite through the process boundary: nothing of the
// contract is lost on the wire.
func TestConformance(t *testing.T) {
	walk, err := conformance.FrameRecords(unwind.AMD64, 20)
	if err != nil {
		t.Fatal(err)
	}
	conformance.Run(t, func() unwind.Unwinder {
		_, p, _ := newHost(t, nil)
		return p
	}, conformance.Options{Walks: []conformance.Walk{walk}})
}
