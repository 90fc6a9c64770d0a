//go:build linux

package switches

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// toolchains are the Go versions before our own whose runtime is known. What the
// runtime keeps, and where, differs between them. CLEW_GO_TOOLCHAINS names more
// (space-separated, such as "go1.24.0 go1.25.1"); then every scenario is run with
// each, at every instruction.
var toolchains = []string{"go1.24.6", "go1.25.4"}

// characteristic are the scenarios that any change of the runtime would show in.
var characteristic = []string{"grow-callback", "grown", "park", "system-callback", "signal-callback"}

// R14: the switches of other versions of the runtime.
func TestToolchains(t *testing.T) {
	more := strings.Fields(os.Getenv("CLEW_GO_TOOLCHAINS"))
	for _, version := range append(slices.Clone(toolchains), more...) {
		t.Run(version, func(t *testing.T) {
			f := native(t)
			f.name = version
			f.goEnv = append(f.goEnv, testneed.Toolchain(t, version))
			if len(more) > 0 {
				testSwitches(t, f, launch)
				testSwitches(t, f, launchStripped)
				testEveryInstruction(t, f)
			} else {
				testSwitches(t, f, launch, characteristic...)
				testSwitches(t, f, launchStripped, "grow-callback")
			}
		})
	}
}
