package scenarios

import (
	"testing"

	"github.com/clewdbg/clew/integration/internal/scenario"
	"github.com/clewdbg/clew/internal/testkit"
)

// Looks at a program may take long on a busy machine. The user's own configuration must not matter.
func TestMain(m *testing.M) {
	testkit.Main(m, testkit.Clew, func() error { return testkit.Config(`{"walkTimeout": "30s", "stackTimeout": "5m"}`) })
}

func TestScenarios(t *testing.T) { scenario.Run(t, ".") }
