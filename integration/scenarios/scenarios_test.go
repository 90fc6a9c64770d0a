package scenarios

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/clewdbg/clew/integration/internal/scenario"
	"github.com/clewdbg/clew/internal/testkit"
)

// Looks at a program may take long on a busy machine. The user's own configuration must not matter.
func TestMain(m *testing.M) {
	testkit.Main(m, testkit.Clew, func() error { return testkit.Config(`{"walkTimeout": "30s", "stackTimeout": "5m"}`) })
}

func TestScenarios(t *testing.T) { scenario.Run(t, ".") }

// TestNothingLeftOut: what a machine may lack is asked for with need, which CI sees; testscript's own skip and stop are not used.
func TestNothingLeftOut(t *testing.T) {
	files, err := filepath.Glob("*.txtar")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if m := regexp.MustCompile(`(?m)^(\[.*\] *)?(skip|stop)\b.*`).Find(text); m != nil {
			t.Errorf("%s: %s", file, m)
		}
	}
}
