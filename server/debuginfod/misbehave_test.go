package debuginfod

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

// server answers every request with h.
func server(t *testing.T, h http.HandlerFunc) string {
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

func sends(path string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, path) }
}

// hang sends a header and then nothing.
func hang(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

// endless sends zeros as long as they are taken.
func endless(w http.ResponseWriter, r *http.Request) {
	zeros := make([]byte, 1<<16)
	for r.Context().Err() == nil {
		if _, err := w.Write(zeros); err != nil {
			return
		}
	}
}

// hugeHeader sends a header's line of a gigabyte, as far as it is taken.
func hugeHeader(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, err = conn.Write([]byte("HTTP/1.1 200 OK\r\nX-A: "))
	part := bytes.Repeat([]byte("a"), 1<<20)
	for n := 0; n < 1<<10 && err == nil; n++ {
		_, err = conn.Write(part)
	}
}

// TestNoLength: a file whose size the server does not say.
func TestNoLength(t *testing.T) {
	b := compiled(t)
	url := server(t, func(w http.ResponseWriter, _ *http.Request) {
		data, err := os.ReadFile(b.debug)
		if err != nil {
			t.Error(err)
		}
		for len(data) > 0 {
			n := min(len(data), 1000)
			_, _ = w.Write(data[:n])
			w.(http.Flusher).Flush()
			data = data[n:]
		}
	})
	for _, by := range []string{"", testneed.Tool(t, "debuginfod-find")} {
		c := config(t, url)
		c.Program = by
		path, err := New(c).Get(t.Context(), Request{Kind: Debuginfo, BuildID: b.id}, nil)
		if err != nil {
			t.Errorf("by %q: %v", by, err)
			continue
		}
		same(t, path, b.debug)
	}
}

// TestFind: what Delve runs waits only a moment for a silent server, and less for the next
// one; it takes no file of another build, from a server or the cache.
func TestFind(t *testing.T) {
	b, other := compiled(t), testneed.Tool(t, "debuginfod")
	find := func(handler http.HandlerFunc, args ...string) (code int, out string, took time.Duration) {
		t.Helper()
		c := config(t, server(t, handler))
		t.Setenv("DEBUGINFOD_URLS", c.URLs[0])
		t.Setenv("DEBUGINFOD_CACHE_PATH", c.Cache)
		var text strings.Builder
		start := time.Now()
		for range 2 {
			code = Find(args, &text, io.Discard)
		}
		return code, text.String(), time.Since(start)
	}
	id := hex.EncodeToString(b.id)
	if code, out, took := find(hang, "debuginfo", id); code == 0 || out != "" || took < patience || took > patience+testneed.Patience(2*time.Second) {
		t.Errorf("a silent server: exit code %d, %q after %v", code, out, took)
	}
	if code, out, _ := find(sends(other), "debuginfo", id); code == 0 || out != "" {
		t.Errorf("another build: exit code %d, %q", code, out)
	}
	code, out, _ := find(sends(b.debug), "--verbose", "debuginfo", id)
	paths := strings.Fields(out)
	if code != 0 || len(paths) != 2 || paths[0] != paths[1] {
		t.Fatalf("exit code %d, %q", code, out)
	}
	same(t, paths[0], b.debug)
	for _, args := range [][]string{nil, {"debuginfo"}, {"metadata", id}, {"debuginfo", "xyz"}, {"source", id, "relative"}} {
		if code, out, _ := find(sends(b.debug), args...); code == 0 || out != "" {
			t.Errorf("%q: exit code %d, %q", args, code, out)
		}
	}
}

// TestStandIn: where elfutils' program is installed and servers are set, the first one in
// PATH is this program, which does not take itself for elfutils'.
func TestStandIn(t *testing.T) {
	real := testneed.Tool(t, "debuginfod-find")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	path := os.Getenv("PATH")
	t.Setenv("PATH", path)
	t.Setenv("DEBUGINFOD_URLS", "")
	if err := StandIn(); err != nil || os.Getenv("PATH") != path {
		t.Errorf("without servers: %v, PATH=%s", err, os.Getenv("PATH"))
	}
	t.Setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1")
	for range 2 { // a process, and one that it starts
		if err := StandIn(); err != nil {
			t.Fatal(err)
		}
		found, err := exec.LookPath(ProgramName)
		if err != nil {
			t.Fatal(err)
		}
		self, _ := os.Executable()
		if to, err := os.Readlink(found); err != nil || to != self {
			t.Errorf("%s leads to %q: %v", found, to, err)
		}
		if c, err := Open(); err != nil || c.config.Program != real {
			t.Errorf("clew's own client runs %v, %v", c, err)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if err := StandIn(); err != nil || installed() != "" {
		t.Errorf("without elfutils: %v, %q", err, installed())
	}
}

// TestMisbehaving: what one server does wrong is named, leaves nothing in the cache,
// and costs another's right answer nothing.
func TestMisbehaving(t *testing.T) {
	b, other := compiled(t), testneed.Tool(t, "debuginfod")
	right := server(t, sends(b.debug))
	program := testneed.Tool(t, "debuginfod-find")
	cases := map[string]struct {
		handler http.HandlerFunc
		want    any // what the error holds
	}{
		"hangs":         {hang, new(*SlowError)},
		"endless":       {endless, new(*SizeError)},
		"another build": {sends(other), new(*OtherBuildError)},
		"text":          {func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("<html>hello")) }, new(*OtherBuildError)},
		"empty":         {func(w http.ResponseWriter, r *http.Request) {}, new(*ServerError)},
		"fails":         {func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", 500) }, new(*statusError)},
		"cut off": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("\x7fELF"))
		}, new(*ServerError)},
		"redirects for ever": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, new(*ServerError)},
		// The right file, but a server must not name files of this machine.
		"redirects to a file":    {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "file://"+b.debug, http.StatusFound) }, new(*ServerError)},
		"a header of a gigabyte": {hugeHeader, new(*ServerError)},
		"claims to be huge": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-DEBUGINFOD-SIZE", "99999999999")
			_, _ = w.Write([]byte("\x7fELF"))
		}, new(*SizeError)},
	}
	r := Request{Kind: Debuginfo, BuildID: b.id}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, by := range []string{"", program} {
				wrong := server(t, tc.handler)
				c := config(t, wrong)
				c.Program, c.MaxSize, c.Timeout, c.MaxTime = by, 1<<20, time.Second, 20*time.Second
				_, err := New(c).Get(t.Context(), r, nil)
				if err == nil || by == "" && !errors.As(err, tc.want) {
					t.Errorf("by %q: %v", by, err)
				}
				left, _ := filepath.Glob(filepath.Join(c.Cache, "*", "*"))
				for _, path := range left {
					// elfutils' client takes some failures for a miss.
					if info, err := os.Stat(path); err != nil || by == "" || info.Size() > 0 {
						t.Errorf("by %q: left in the cache: %s", by, path)
					}
				}
				if by != "" && name != "another build" && name != "text" {
					continue // the program decides which server it takes
				}
				c.URLs = []string{wrong, right}
				path, err := New(c).Get(t.Context(), r, nil)
				if err != nil {
					t.Errorf("by %q: a right server beside it: %v", by, err)
					continue
				}
				same(t, path, b.debug)
			}
		})
	}
}

// TestProgramBounded: elfutils' client checks the size that a server announces;
// endless data end all the same, and what came is deleted.
func TestProgramBounded(t *testing.T) {
	c := config(t, server(t, endless))
	c.Program, c.MaxSize = testneed.Tool(t, "debuginfod-find"), 1<<20
	r := Request{Kind: Debuginfo, BuildID: []byte{1, 2, 3, 4}}
	start := time.Now()
	_, err := New(c).Get(t.Context(), r, nil)
	var size *SizeError
	if !errors.As(err, &size) || time.Since(start) > testneed.Patience(30*time.Second) {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
	if left, _ := filepath.Glob(filepath.Join(c.Cache, "*", "*")); len(left) > 0 {
		t.Errorf("left in the cache: %v", left)
	}
}

// TestCancel: the context ends a request to a server that says nothing.
func TestCancel(t *testing.T) {
	silent := server(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	r := Request{Kind: Executable, BuildID: []byte{1, 2, 3, 4}}
	for _, by := range []string{"", testneed.Tool(t, "debuginfod-find")} {
		c := config(t, silent)
		c.Program = by
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		time.AfterFunc(200*time.Millisecond, func() { cancel(enough) })
		start := time.Now()
		if _, err := New(c).Get(ctx, r, nil); !errors.Is(err, enough) || time.Since(start) > testneed.Patience(10*time.Second) {
			t.Errorf("by %q: after %v: %v", by, time.Since(start), err)
		}
		c.MaxTime = time.Second
		if _, err := New(c).Get(t.Context(), r, nil); err == nil {
			t.Errorf("by %q: a silent server has a file", by)
		}
	}
}

// TestRetry: a server that fails is asked again as often as it is said, one that
// has nothing is not.
func TestRetry(t *testing.T) {
	for status, want := range map[int]int64{500: 3, 404: 1, 403: 1} {
		var asked atomic.Int64
		url := server(t, func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.WriteHeader(status)
		})
		c := config(t, url)
		r := Request{Kind: Debuginfo, BuildID: []byte{1, 2, 3, 4}}
		_, err := New(c).Get(t.Context(), r, nil)
		if n := asked.Load(); n != want || err == nil {
			t.Errorf("status %d: asked %d times, want %d; %v", status, n, want, err)
		}
		_, err = New(c).Get(t.Context(), r, nil)
		if again := asked.Load() > want; again == (status == 404) {
			t.Errorf("status %d: asked again: %v, %v", status, again, err)
		}
	}
}

// TestHeaders: every request has the headers of the user's file.
func TestHeaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "headers")
	write(t, path, "Authorization: Bearer x\n\nno header\nX-A:b\n")
	b := compiled(t)
	var got http.Header
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		http.ServeFile(w, r, b.debug)
	})
	env := map[string]string{"DEBUGINFOD_URLS": url, "DEBUGINFOD_HEADERS_FILE": path, "DEBUGINFOD_CACHE_PATH": t.TempDir(), "DEBUGINFOD_MAXSIZE": "1000000"}
	c, err := FromEnvironment(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(c).Get(t.Context(), Request{Kind: Debuginfo, BuildID: b.id}, nil); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"Authorization": "Bearer x", "X-A": "b", "X-Debuginfod-Maxsize": "1000000"} {
		if got.Get(name) != want {
			t.Errorf("header %s: %q, want %q", name, got.Get(name), want)
		}
	}
}

// TestBackground: a question is answered at once, and later with the file.
func TestBackground(t *testing.T) {
	b := compiled(t)
	release := make(chan struct{})
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/executable") {
			hang(w, r)
			return
		}
		<-release
		http.ServeFile(w, r, b.debug)
	})
	bg := NewBackground(New(config(t, url)))
	r := Request{Kind: Debuginfo, BuildID: b.id}
	for range 2 {
		if path, err := bg.Ask(r); !errors.Is(err, ErrPending) {
			t.Fatalf("%s, %v; want that it is pending", path, err)
		}
	}
	if n := len(bg.Pending()); n != 1 {
		t.Errorf("%d requests are pending, want 1", n)
	}
	close(release)
	if err := bg.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	path, err := bg.Ask(r)
	if err != nil {
		t.Fatal(err)
	}
	same(t, path, b.debug)
	if _, err := bg.Ask(Request{Kind: Executable, BuildID: b.id}); !errors.Is(err, ErrPending) {
		t.Errorf("a hanging server: %v", err)
	}
	bg.Close() // does not wait for the hanging server
	if _, err := bg.Ask(Request{Kind: Executable, BuildID: b.id}); !errors.Is(err, context.Canceled) {
		t.Errorf("after Close: %v", err)
	}
}

// TestCacheOfAnotherBuild: a wrong file in the cache is deleted and got again.
func TestCacheOfAnotherBuild(t *testing.T) {
	b := compiled(t)
	c := config(t, server(t, sends(b.debug)))
	r := Request{Kind: Debuginfo, BuildID: b.id}
	in := cache{c.Cache}.path(r)
	if err := os.MkdirAll(filepath.Dir(in), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, in, "not it")
	path, err := New(c).Get(t.Context(), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	same(t, path, b.debug)
}

// TestMissExpires: a miss is believed as long as the control file says.
func TestMissExpires(t *testing.T) {
	b := compiled(t)
	c := config(t, server(t, sends(b.debug)))
	r := Request{Kind: Debuginfo, BuildID: b.id}
	store := cache{c.Cache}
	store.miss(r)
	if _, err := New(c).Get(t.Context(), r, nil); !errors.Is(err, ErrNotFound) {
		t.Fatalf("a new miss: %v", err)
	}
	if text, err := os.ReadFile(filepath.Join(c.Cache, missFile)); string(text) != "600" {
		t.Errorf("control file: %q, %v", text, err)
	}
	write(t, filepath.Join(c.Cache, missFile), "60\n")
	old := time.Now().Add(-2 * time.Minute)
	if err := os.Chtimes(store.path(r), old, old); err != nil {
		t.Fatal(err)
	}
	if _, err := New(c).Get(t.Context(), r, nil); err != nil {
		t.Errorf("an old miss: %v", err)
	}
}

// TestClean: files that were not used for long go, others and strange ones stay.
func TestClean(t *testing.T) {
	c := cache{t.TempDir()}
	c.setting(cleanFile, defaultClean)
	now := time.Now()
	ages := map[string]time.Duration{"aa/debuginfo": 8, "bb/debuginfo": 6, "bb/source##a": 8, "bb/mine": 8, "notes/debuginfo": 8}
	for name, days := range ages {
		path := filepath.Join(c.folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, path, "x")
		at := now.Add(-days * 24 * time.Hour)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	count := func() int {
		all, _ := filepath.Glob(filepath.Join(c.folder, "*", "*"))
		return len(all)
	}
	if c.clean(now); count() != len(ages) {
		t.Errorf("cleaned before the interval was over")
	}
	old := now.Add(-25 * time.Hour)
	if err := os.Chtimes(filepath.Join(c.folder, cleanFile), old, old); err != nil {
		t.Fatal(err)
	}
	c.clean(now)
	for name, want := range map[string]bool{"aa": false, "bb/debuginfo": true, "bb/source##a": false, "bb/mine": true, "notes/debuginfo": true} {
		if _, err := os.Stat(filepath.Join(c.folder, name)); (err == nil) != want {
			t.Errorf("%s: there %v, want %v", name, err == nil, want)
		}
	}
}

// TestEnvironment: variables, and where the cache is.
func TestEnvironment(t *testing.T) {
	home := t.TempDir()
	env := map[string]string{"HOME": home}
	get := func() (Config, error) { return FromEnvironment(func(name string) string { return env[name] }) }
	if _, err := get(); !errors.Is(err, ErrNotConfigured) {
		t.Errorf("without DEBUGINFOD_URLS: %v", err)
	}
	env["DEBUGINFOD_URLS"] = " http://a  http://b/ "
	c, err := get()
	if err != nil || len(c.URLs) != 2 || c.Timeout != 90*time.Second || c.Retries != 2 || c.Cache != filepath.Join(home, ".cache", "debuginfod_client") {
		t.Errorf("%+v, %v", c, err)
	}
	env["DEBUGINFOD_TIMEOUT"], env["DEBUGINFOD_MAXTIME"], env["DEBUGINFOD_RETRY_LIMIT"], env["XDG_CACHE_HOME"] = "3", "9", "x", "/x"
	if c, _ = get(); c.Timeout != 3*time.Second || c.MaxTime != 9*time.Second || c.Retries != 2 || c.Cache != "/x/debuginfod_client" {
		t.Errorf("%+v", c)
	}
	if err := os.Mkdir(filepath.Join(home, ".debuginfod_client_cache"), 0o700); err != nil {
		t.Fatal(err)
	}
	if c, _ = get(); c.Cache != filepath.Join(home, ".debuginfod_client_cache") {
		t.Errorf("the old cache: %s", c.Cache)
	}
	for _, r := range []Request{{}, {BuildID: make([]byte, 20), Kind: Source, Path: "a"}, {BuildID: make([]byte, 20), Kind: 9},
		{BuildID: make([]byte, 20), Kind: Source, Path: "/" + strings.Repeat("a/", 300)}, {BuildID: make([]byte, 1000)}} {
		if _, err := New(c).Get(t.Context(), r, nil); !errors.Is(err, errRequest) {
			t.Errorf("%v: %v", r, err)
		}
	}
}
