package live

import (
	"context"
	"errors"
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

// hanging asks a server that never answers.
func hanging(t *testing.T) *debuginfod.Background {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(server.Close)
	b := debuginfod.NewBackground(debuginfod.New(debuginfod.Config{
		URLs: []string{server.URL}, Cache: t.TempDir(), Timeout: time.Hour, MaxTime: time.Hour, MaxSize: 1 << 20,
	}))
	if path, err := askBackground(b)([]byte{1, 2, 3}); !errors.Is(err, debuginfod.ErrPending) {
		t.Errorf("%q, %v", path, err)
	}
	return b
}

// TestAskBackground: a server that takes its time is not waited for; at the end only as
// long as the user likes.
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
	if path, err := ask(f.BuildID()); path != "" || !errors.Is(err, debuginfod.ErrPending) {
		t.Errorf("at once: %q, %v", path, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	shown := 0
	endDownloads(ctx, hanging(t), func(debuginfod.Progress) {
		shown++
		cancel() // Ctrl-C
	})
	if shown != 1 {
		t.Errorf("progress was shown %d times", shown)
	}
	close(release)
	if err := b.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if path, err := ask(f.BuildID()); path == "" || err != nil {
		t.Errorf("later: %q, %v", path, err)
	}
	if path, err := ask([]byte{1, 2, 3}); path != "" || !errors.Is(err, debuginfod.ErrPending) {
		t.Errorf("another build: %q, %v", path, err)
	}
}
