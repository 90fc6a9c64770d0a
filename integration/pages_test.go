package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/debuginfod/debuginfodtest"
)

// script returns a document's commands, as they stand there.
func script(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		all.WriteString(block[1])
	}
	return all.String()
}

// TestPages runs the commands of docs/formats.md and docs/symbols.md, as they stand there.
func TestPages(t *testing.T) {
	testneed.Tool(t, "python3")
	l := makeLater(t, "exe", "-O2 -g")
	dir := filepath.Dir(l.whole)
	follow := func(page string, env ...string) outcome {
		t.Helper()
		cmd := exec.Command("sh", "-e", "-c", script(t, page))
		cmd.Dir = dir
		cmd.Env = append(append(os.Environ(), "PATH="+testkit.Path("")+":"+os.Getenv("PATH")), env...)
		return run(t, cmd).want(t, done)
	}

	o := follow("../docs/formats.md")
	for _, line := range []string{"\ncfi main.main\n", "\nend runtime.goexit\n"} { // the script at the page's end
		if !strings.Contains(o.stdout, line) {
			t.Errorf("docs/formats.md: no line %q: %v", strings.TrimSpace(line), o)
		}
	}

	if err := os.Mkdir(filepath.Join(dir, "symbols"), 0o755); err != nil {
		t.Fatal(err)
	}
	command(t, exec.Command(testneed.Tool(t, "strip"), filepath.Join(dir, "libshapes.so")))
	url := debuginfodtest.Serve(t, l.folder)
	debuginfodtest.Wait(t, url, buildIDOf(t, l.whole), "debuginfo", "executable")
	o = follow("../docs/symbols.md", "DEBUGINFOD_URLS="+url, "DEBUGINFOD_CACHE_PATH="+t.TempDir())
	if n := strings.Count(o.stdout, "native.c"); n < 5*4 { // of each decode and unwind that shows what it found
		t.Errorf("docs/symbols.md: %d places in native.c: %v", n, o)
	}
	if info, err := os.Stat(filepath.Join(dir, "crash.pb.gz")); err != nil || info.Size() == 0 {
		t.Errorf("docs/symbols.md: no profile: %v", err)
	}
}
