package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/debuginfod/debuginfodtest"
)

// TestSymbolsPage runs the commands of docs/symbols.md, as they stand there.
func TestSymbolsPage(t *testing.T) {
	page, err := os.ReadFile("../docs/symbols.md")
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		script.WriteString(block[1])
	}
	l := makeLater(t, "exe", "-O2 -g")
	dir := filepath.Dir(l.whole)
	symbols := filepath.Join(dir, "symbols")
	if err := os.Mkdir(symbols, 0o755); err != nil {
		t.Fatal(err)
	}
	command(t, exec.Command(testneed.Tool(t, "strip"), filepath.Join(dir, "libshapes.so")))
	url := debuginfodtest.Serve(t, l.folder)
	debuginfodtest.Wait(t, url, buildIDOf(t, l.whole), "debuginfo", "executable")
	t.Setenv("DEBUGINFOD_CACHE_PATH", t.TempDir())
	cmd := exec.Command("sh", "-e", "-c", script.String())
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+workFolder+":"+os.Getenv("PATH"), "DEBUGINFOD_URLS="+url)
	o := run(t, cmd).want(t, done)
	if n := strings.Count(o.stdout, "native.c"); n < 5*4 { // of each decode and unwind that shows what it found
		t.Errorf("%d places in native.c: %v", n, o)
	}
	if info, err := os.Stat(filepath.Join(dir, "crash.pb.gz")); err != nil || info.Size() == 0 {
		t.Errorf("no profile: %v", err)
	}
}
