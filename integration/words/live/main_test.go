//go:build linux

package live

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
)

// patience bounds one session.
const patience = 3 * time.Minute

func TestMain(m *testing.M) { testkit.Main(m, testkit.Clew, setUp) }

// setUp keeps the user's own configuration out. One P makes the numbers of goroutines the same in each run.
func setUp() error {
	return errors.Join(testkit.Config(`{"walkTimeout": "30s", "stackTimeout": "2m"}`),
		os.Setenv("TERM", "dumb"), os.Setenv("NO_COLOR", "1"), os.Setenv("GOMAXPROCS", "1"), os.Setenv("GOTRACEBACK", "crash"))
}

func binary(name string) string { return testkit.Path(name) }

// mixed builds the program once, and returns the lines of its sources that are marked.
func mixed(t *testing.T) (exe string, marks map[string]place) {
	t.Helper()
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	t.Setenv("CC", testneed.Tool(t, "gcc"))
	t.Setenv("CXX", testneed.Tool(t, "g++"))
	t.Setenv("CGO_ENABLED", "1")
	t.Setenv("CGO_CFLAGS", "-O2 -g")
	t.Setenv("CGO_CXXFLAGS", "-O2 -g")
	dir := binary("mixed-src")
	if _, err := os.Stat(binary("mixed")); err != nil {
		if err := errors.Join(testkit.Module(dir, "testdata/mixed"), testkit.GoIn(dir, nil, "build", "-o", binary("mixed"), ".")); err != nil {
			t.Fatal(err)
		}
	}
	marks = make(map[string]place)
	for _, name := range []string{"main.go", "leaf.c", "work.cc"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if _, mark, ok := strings.Cut(line, "// line: "); ok {
				marks[mark] = place{name, i + 1}
			}
		}
	}
	return binary("mixed"), marks
}
