package conformance_test

import (
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/conformance"
	"github.com/clewdbg/clew/unwind/plugin/example/framechain"
)

// The test that a plugin's own package should have.
func ExampleRun() {
	TestConformance := func(t *testing.T) {
		walk, err := conformance.FrameRecords(unwind.AMD64, 20)
		if err != nil {
			t.Fatal(err)
		}
		conformance.Run(t, func() unwind.Unwinder { return new(framechain.Unwinder) }, conformance.Options{Walks: []conformance.Walk{walk}})
	}
	_ = TestConformance // is run by go test
}
