package debuginfod

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/debuginfod/debuginfodtest"
)

// build is a program of C's, its separate debug file and its source.
type build struct {
	folder, source, executable, debug string
	id                                []byte
}

// compiled builds a program whose debug file is apart.
func compiled(t *testing.T) build {
	t.Helper()
	dir := t.TempDir()
	b := build{folder: dir, source: filepath.Join(dir, "a #1.c"), executable: filepath.Join(dir, "a"), debug: filepath.Join(dir, "a.debug")}
	write(t, b.source, "int main(void) { return 0; }\n")
	run(t, testneed.Tool(t, "gcc"), "-g", "-Wl,--build-id=sha1", "-o", b.executable, b.source)
	objcopy := testneed.Tool(t, "objcopy")
	run(t, objcopy, "--only-keep-debug", b.executable, b.debug)
	run(t, objcopy, "--strip-debug", b.executable)
	b.id = idOf(t, b.executable)
	return b
}

func idOf(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	id, err := imagemap.ReadBuildID(f)
	if err != nil || len(id) == 0 {
		t.Fatalf("%s: build ID %x, %v", path, id, err)
	}
	return id
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func same(t *testing.T, got, want string) {
	t.Helper()
	a, err := os.ReadFile(got)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(want)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Errorf("%s (%d bytes) is not %s (%d bytes)", got, len(a), want, len(b))
	}
}

func config(t *testing.T, urls ...string) Config {
	return Config{URLs: urls, Cache: filepath.Join(t.TempDir(), "cache"), Timeout: 20 * time.Second, MaxTime: time.Minute, MaxSize: 64 << 20, Retries: 2}
}

// TestServer asks Debian's debuginfod for all that there is of a build, by HTTP and
// by elfutils' client; each finds in its cache what the other put there.
func TestServer(t *testing.T) {
	b := compiled(t)
	url := debuginfodtest.Serve(t, b.folder)
	debuginfodtest.Wait(t, url, b.id, "debuginfo", "executable")
	program := testneed.Tool(t, "debuginfod-find")
	requests := map[string]Request{
		b.debug:      {Kind: Debuginfo, BuildID: b.id},
		b.executable: {Kind: Executable, BuildID: b.id},
		b.source:     {Kind: Source, BuildID: b.id, Path: b.source},
	}
	for _, by := range []string{"", program} {
		c := config(t, url)
		c.Program = by
		for file, r := range requests {
			var last Progress
			client := New(c)
			if _, err := client.Cached(r); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%v is in a new cache: %v", r, err)
			}
			path, err := client.Get(t.Context(), r, func(p Progress) { last = p })
			if err != nil {
				t.Errorf("by %q: %v", by, err)
				continue
			}
			same(t, path, file)
			if again, err := client.Cached(r); again != path || err != nil {
				t.Errorf("cached: %s, %v; got %s", again, err, path)
			}
			if info, _ := os.Stat(file); by == "" && last.Received != info.Size() {
				t.Errorf("%v: progress ends at %d bytes of %d", r, last.Received, info.Size())
			}
			// The other client with the same cache and no server.
			none := c
			none.URLs = []string{"http://127.0.0.1:1"}
			args := []string{r.Kind.String(), hex.EncodeToString(b.id)}
			if r.Kind == Source {
				args = append(args, r.Path)
			}
			cmd := exec.Command(program, args...)
			cmd.Env = append(os.Environ(), New(none).environment()...)
			out, err := cmd.CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil || got != path {
				t.Errorf("by %q: debuginfod-find finds %q in the cache, %v; want %s", by, got, err, path)
			}
		}
		unknown := Request{Kind: Debuginfo, BuildID: bytes.Repeat([]byte{0xab}, 20)}
		if _, err := New(c).Get(t.Context(), unknown, nil); !errors.Is(err, ErrNotFound) {
			t.Errorf("by %q: an unknown build: %v", by, err)
		}
		if _, err := New(c).Cached(unknown); !errors.Is(err, ErrNotFound) {
			t.Errorf("by %q: the miss is not in the cache: %v", by, err)
		}
		info, err := os.Stat(cache{c.Cache}.path(unknown))
		if err != nil || info.Size() != 0 {
			t.Errorf("by %q: a miss is no empty file: %v, %v", by, info, err)
		}
	}
}
