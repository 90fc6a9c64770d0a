package symbolstore

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/debuginfod"
	"github.com/clewdbg/clew/server/export/document"
	"github.com/clewdbg/clew/server/symbols"
	"github.com/clewdbg/clew/unwind"
)

const programText = `
static inline __attribute__((always_inline)) int twice(int x) { return x * 2 + (x >> 3); }
__attribute__((noinline)) int leaf(int x) { return twice(x) + 1; }
int main(int argc, char **argv) { return leaf(argc) + 1; }
`

func run(t *testing.T, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// built is one program in three files.
type built struct{ whole, stripped, debug string }

// programs builds programs whose link-time addresses begin at 0 and elsewhere.
func programs(t *testing.T) map[string]built {
	testneed.Platform(t, "linux/amd64")
	cc, strip, objcopy := testneed.Tool(t, "gcc"), testneed.Tool(t, "strip"), testneed.Tool(t, "objcopy")
	dir := t.TempDir()
	in, inGo := filepath.Join(dir, "a.c"), filepath.Join(dir, "main.go")
	for path, text := range map[string]string{in: programText, inGo: "package main\n\nfunc main() { println(leaf(1)) }\n\n//go:noinline\nfunc leaf(x int) int { return twice(x) + 1 }\n\nfunc twice(x int) int { return 2 * x }\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := make(map[string]built)
	for name, build := range map[string][]string{
		"pie":   {cc, "-g", "-O2", "-pie", "-fPIE", "-Wl,--build-id", in},
		"fixed": {cc, "-g", "-O2", "-no-pie", "-Wl,--build-id", in},
		"go":    {"go", "build", inGo},
	} {
		folder := filepath.Join(dir, name)
		b := built{filepath.Join(folder, "whole"), filepath.Join(folder, "stripped"), filepath.Join(folder, "debug")}
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		args := append(build[1:len(build)-1:len(build)-1], "-o", b.whole, build[len(build)-1])
		run(t, []string{"CGO_ENABLED=0"}, build[0], args...)
		run(t, nil, strip, "-o", b.stripped, b.whole)
		run(t, nil, objcopy, "--only-keep-debug", b.whole, b.debug)
		out[name] = b
	}
	return out
}

// image is where a program was loaded, on a machine of which only this is known.
func image(t *testing.T, path string) (*imagemap.Image, uint64) {
	t.Helper()
	f, err := symbols.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	bias := uint64(0x5550000000)
	if f.Start() != 0 {
		bias = 0
	}
	return &imagemap.Image{Base: bias + f.Start(), EndOfText: bias + f.Start() + 1<<30, BuildID: f.BuildID(), Path: "/elsewhere/" + filepath.Base(path)}, bias
}

// check compares what a store says of all of leaf and main with the unstripped file.
func check(t *testing.T, what string, s *Store, b built) {
	t.Helper()
	whole, err := symbols.Open(b.whole)
	if err != nil {
		t.Fatal(err)
	}
	img, bias := image(t, b.stripped)
	file, err := s.File(img)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	n := 0
	for _, name := range []string{"leaf", "main", "main.leaf", "main.main"} {
		for _, at := range whole.Find(name) {
			bounds, ok := whole.FunctionBounds(at)
			if table := whole.GoTable(); table != nil {
				if fn, found := table.Func(at); found {
					bounds.Start, bounds.End, ok = fn.Entry, fn.End, true
				}
			}
			if !ok {
				t.Fatalf("%s has no bounds", name)
			}
			for pc := bounds.Start; pc < bounds.End; pc++ {
				want := callsOf(whole, pc, pc)
				got := s.Calls(img, bias+pc, unwind.LookupAddr(bias+pc))
				if len(want) > 0 && want[0].Line != 0 {
					n++
				}
				if code := file.Code(pc, 1); !reflect.DeepEqual(callsOf(file, pc, pc), want) || len(code) != 1 || code[0] != whole.Code(pc, 1)[0] {
					t.Fatalf("%s: %s at %#x: the file for unwinding has %x, %+v, want %+v", what, name, pc, code, callsOf(file, pc, pc), want)
				}
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("%s: %s at %#x: %+v, want %+v; %v", what, name, pc, got, want, s.Notes())
				}
			}
		}
	}
	if n < 15 {
		t.Errorf("%s: only %d addresses have lines", what, n)
	}
}

// TestStores: what was stripped where the program ran is found by build ID alone: in
// one file, anywhere in a folder, at its usual place, and from servers.
func TestStores(t *testing.T) {
	for name, b := range programs(t) {
		t.Run(name, func(t *testing.T) {
			s, err := Open(b.whole)
			if err != nil {
				t.Fatal(err)
			}
			check(t, "the unstripped file", s, b)

			folder := t.TempDir()
			deep := filepath.Join(folder, "a", "b")
			if err := os.MkdirAll(deep, 0o700); err != nil {
				t.Fatal(err)
			}
			link(t, b.stripped, filepath.Join(deep, "x.so"))
			link(t, b.debug, filepath.Join(deep, "anything"))
			if s, err = Open(folder); err != nil {
				t.Fatal(err)
			}
			check(t, "a folder", s, b)

			linked := t.TempDir()
			for from, to := range map[string]string{
				folder: "elsewhere", ".": "ring", "ring": "ring2", "ring/ring2/missing": "dangling", "loop": "loop",
			} {
				if err := os.Symlink(from, filepath.Join(linked, to)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(linked, linked+".link"); err != nil {
				t.Fatal(err)
			}
			if s, err = Open(linked + ".link"); err != nil {
				t.Fatal(err)
			}
			check(t, "links", s, b)

			img, _ := image(t, b.stripped)
			usual := t.TempDir()
			id := hexOf(img.BuildID)
			if err := os.MkdirAll(filepath.Join(usual, ".build-id", id[:2]), 0o700); err != nil {
				t.Fatal(err)
			}
			link(t, b.debug, filepath.Join(usual, ".build-id", id[:2], id[2:]+".debug"))
			link(t, b.stripped, filepath.Join(usual, ".build-id", id[:2], id[2:]))
			if s, err = Open(usual); err != nil {
				t.Fatal(err)
			}
			check(t, "the usual place", s, b)

			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case strings.HasSuffix(r.URL.Path, id+"/debuginfo"):
					http.ServeFile(w, r, b.debug)
				case strings.HasSuffix(r.URL.Path, id+"/executable"):
					http.ServeFile(w, r, b.stripped)
				default:
					http.NotFound(w, r)
				}
			}))
			defer server.Close()
			check(t, "a server", Debuginfod(t.Context(), debuginfod.New(debuginfod.Config{
				URLs: []string{server.URL}, Cache: t.TempDir(), Timeout: 20 * time.Second, MaxTime: time.Minute, MaxSize: 64 << 20,
			}), nil), b)
		})
	}
}

func link(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Link(from, to); err != nil {
		t.Fatal(err)
	}
}

func hexOf(id []byte) string {
	const digits = "0123456789abcdef"
	var out []byte
	for _, b := range id {
		out = append(out, digits[b>>4], digits[b&15])
	}
	return string(out)
}

// TestOtherBuild: a file of another build, at the image's own path even, is no answer,
// and that is said once.
func TestOtherBuild(t *testing.T) {
	all := programs(t)
	s, err := Open(filepath.Dir(all["pie"].whole))
	if err != nil {
		t.Fatal(err)
	}
	img, bias := image(t, all["fixed"].whole)
	for range 2 {
		if calls := s.Calls(img, bias+0x401000, unwind.LookupAddr(bias+0x401000)); calls != nil {
			t.Errorf("%+v", calls)
		}
	}
	if notes := s.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "/elsewhere/whole") {
		t.Errorf("%q", notes)
	}
	if f, err := s.File(img); err == nil {
		t.Errorf("%v is the file of another build", f)
	}
	if path, err := s.DebugFile(img.BuildID); !errors.Is(err, debuginfod.ErrNotFound) {
		t.Errorf("%s, %v", path, err)
	}
	img.BuildID = nil
	s.Calls(img, 0, 0)
	if notes := s.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "no build ID") {
		t.Errorf("%q", notes)
	}
	for _, path := range []string{"/nothing", os.DevNull, filepath.Join(t.TempDir(), "x")} {
		if _, err := Open(path); err == nil {
			t.Errorf("%s was opened", path)
		}
	}
}

var _ document.Symbols = (*Store)(nil)
