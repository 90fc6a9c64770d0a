//go:build linux && (amd64 || arm64)

// Command truth asks whether stacks are right, against what programs record of themselves and what a single-stepping
// tracer has seen:
//
//	go run ./integration/truth matrix     # Go with native code in many builds and scenarios, by clew and by Delve: docs/accuracy.md
//	go run ./integration/truth sampled    # at instructions taken at random in Debian's libraries: docs/sampled.md
//	go run ./integration/truth steps      # at every instruction of C
//	go run ./integration/truth starts     # where functions begin in code without tables: docs/code-model.md
//	go run ./integration/truth macho      # the tables of real Mach-O files: plugins/compactunwind/README.md
//
// The folder of each has its arguments (go doc ./integration/truth/matrix). The whole matrix takes half an hour on two processors,
// the 31 libraries of sampled two hours, the others some minutes. Package scan has the same question for a scan alone, as a test.
package main

import (
	"github.com/clewdbg/clew/integration/internal/suite"
	macho "github.com/clewdbg/clew/integration/macho/real"
	"github.com/clewdbg/clew/integration/truth/matrix"
	"github.com/clewdbg/clew/integration/truth/sampled"
	"github.com/clewdbg/clew/integration/truth/starts"
	"github.com/clewdbg/clew/integration/truth/steps"
)

func main() {
	suite.Run(map[string]func(){"matrix": matrix.Main, "sampled": sampled.Main, "steps": steps.Main, "starts": starts.Main, "macho": macho.Main})
}
