package live

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/debuginfod"
	"github.com/clewdbg/clew/server/symbols"
)

// TestAskBackground: a server that takes its time is not waited for.
func TestAskBackground(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	program := filepath.Join(t.TempDir(), "a.so")
	if out, err := exec.Command(testneed.Tool(t, "gcc"), "-shared", "-Wl,--build-id", "-x", "c", "-o", program, os.DevNull).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := symbols.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-release
		http.ServeFile(w, r, program)
	}))
	defer server.Close()
	b := debuginfod.NewBackground(debuginfod.New(debuginfod.Config{
		URLs: []string{server.URL}, Cache: t.TempDir(), Timeout: 20 * time.Second, MaxTime: time.Minute, MaxSize: 1 << 20,
	}))
	defer b.Close()
	ask := askBackground(b)
	if path, pending := ask(f.BuildID()); path != "" || !pending {
		t.Errorf("at once: %q, pending %v", path, pending)
	}
	close(release)
	if err := b.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if path, pending := ask(f.BuildID()); path == "" || pending {
		t.Errorf("later: %q, pending %v", path, pending)
	}
	if path, pending := ask([]byte{1, 2, 3}); path != "" || !pending {
		t.Errorf("another build: %q, pending %v", path, pending)
	}
}
