package integration

import (
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testneed"
)

// debuginfodAt sets the server that clew asks, and returns its cache.
func debuginfodAt(t *testing.T, url string) (cache string) {
	t.Helper()
	cache = t.TempDir()
	t.Setenv("DEBUGINFOD_URLS", url)
	t.Setenv("DEBUGINFOD_CACHE_PATH", cache)
	return cache
}

// TestDebuginfodHangs: a server that never answers costs the names, not the stack. Delve
// asks it too, for every library; neither of them is waited for, and nothing is left
// running or half written.
func TestDebuginfodHangs(t *testing.T) {
	testneed.Tool(t, "debuginfod-find") // without it Delve asks no server
	l := makeLater(t, "exe", "-O2 -g")
	silent, cache := hangingAt(t)
	start := time.Now()
	o := l.stack(t, l.bare, "--format", "json")
	most := testneed.Patience(30 * time.Second) // Delve alone would take 270 s for each library
	if took := time.Since(start); took > most {
		t.Errorf("it took %v", took)
	}
	s := o.stacks(t)[0]
	if last := s.Frames[len(s.Frames)-1]; last.Function != "runtime.goexit" {
		t.Errorf("%s", show(&s))
	}
	for _, name := range []string{"app", "libshapes.so"} {
		if n := strings.Count(strings.Join(s.Notes, "\n"), name+": its debug file was asked for and is not there yet"); n != 1 {
			t.Errorf("%d notes on %s: %q", n, name, s.Notes)
		}
	}
	silent.left(t, cache)
}

// TestDebuginfodInterrupted: Ctrl-C ends the wait for a server, and all that waits.
func TestDebuginfodInterrupted(t *testing.T) {
	testneed.Tool(t, "debuginfod-find")
	l := makeLater(t, "exe", "-O2 -g")
	file := filepath.Join(t.TempDir(), "x.json")
	l.stack(t, l.bare, "--format", "swift", "-o", file)
	for name, args := range map[string][]string{
		"stack":  {"stack", "--", l.bare}, // Delve waits
		"decode": {"decode", "--symbols", "debuginfod", file},
	} {
		t.Run(name, func(t *testing.T) {
			silent, cache := hangingAt(t)
			cmd := exec.Command(clewPath(), args...)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(30 * time.Second); silent.asked.Load() == 0; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the server is not asked")
				}
			}
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			err := cmd.Wait()
			// Between clew's end and the guard's signal the program may say that its breakpoint has ended it.
			said, _, _ := strings.Cut(stderr.String(), "SIGTRAP")
			if cmd.ProcessState.ExitCode() != failed || time.Since(start) > testneed.Patience(5*time.Second) || !strings.HasSuffix(said, "clew: interrupted\n") {
				t.Errorf("%v after %v: %s", err, time.Since(start), stderr.String())
			}
			silent.left(t, cache)
		})
	}
}

// silentServer never answers.
type silentServer struct{ asked, open atomic.Int32 }

// hangingAt runs one, and sets it for clew with an empty cache.
func hangingAt(t *testing.T) (s *silentServer, cache string) {
	t.Helper()
	s = new(silentServer)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		s.open.Add(1)
		s.asked.Add(1)
		<-r.Context().Done()
		s.open.Add(-1)
	}))
	t.Cleanup(server.Close)
	return s, debuginfodAt(t, server.URL)
}

// left demands that nothing goes on to wait, and that no half of a file is in the cache.
func (s *silentServer) left(t *testing.T, cache string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		files, _ := filepath.Glob(filepath.Join(cache, "*", "*"))
		if s.open.Load() == 0 && len(files) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d requests go on; left in the cache: %q", s.open.Load(), s.asked.Load(), files)
		}
	}
}

// TestDebuginfodLies: what a server sends of another build gives no names, to Delve neither,
// and is named where it is waited for.
func TestDebuginfodLies(t *testing.T) {
	l := makeLater(t, "exe", "-O2 -g")
	plain, _ := liveRows(t, l.stack(t, l.bare, "--format", "json"))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, clewPath()) // which has a build ID, of its own
	}))
	defer server.Close()
	debuginfodAt(t, server.URL)
	o := l.stack(t, l.bare, "--format", "json")
	rows, _ := liveRows(t, o)
	sameRows(t, "with lies", rows, plain)

	file := filepath.Join(t.TempDir(), "x.json")
	l.stack(t, l.bare, "--format", "swift", "-o", file)
	got := clew(t, "decode", "--format", "json", "--symbols", "debuginfod", file).want(t, done)
	for _, name := range []string{"app", "libshapes.so"} {
		if n := strings.Count(got.stderr, name+`": `); n != 1 || !strings.Contains(got.stderr, "build") {
			t.Errorf("said %d times that there is nothing of %s: %s", n, name, got.stderr)
		}
	}
}

// TestDebuginfodTables: a stripped library without tables is unwound by the .debug_frame
// that a debuginfod has of it, once that was fetched.
func TestDebuginfodTables(t *testing.T) {
	v := program.Variant{Name: "linked-O2-debuginfod", CFlags: "-O2 -g -fomit-frame-pointer -fno-asynchronous-unwind-tables", Linkage: program.Linked}
	p := build(t, v)
	debug := split(t, p.Library, t.TempDir())
	id := hex.EncodeToString(buildIDOf(t, debug))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, id) && strings.HasSuffix(r.URL.Path, "/debuginfo") {
			http.ServeFile(w, r, debug)
			return
		}
		http.NotFound(w, r)
	}))
	defer server.Close()
	cache := debuginfodAt(t, server.URL)
	scenario := program.Scenarios[1] // through a callback

	file := filepath.Join(t.TempDir(), "x.json")
	launch(t, p, scenario.Name, scenario.Stop, "--format", "snapshot", "-o", file)
	clew(t, "unwind", "--symbols", "debuginfod", file) // waits for the server; of the stack, the snapshot has what was seen
	if _, err := os.Stat(filepath.Join(cache, id, "debuginfo")); err != nil {
		t.Fatal(err)
	}
	launch(t, p, scenario.Name, scenario.Stop, "--format", "json").check(t, v, scenario.Groups)
}

func buildIDOf(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	id, err := imagemap.ReadBuildID(f)
	if err != nil || len(id) == 0 {
		t.Fatalf("%s has no build ID: %v", path, err)
	}
	return id
}
