package main

import (
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/export/document"
	"github.com/clewdbg/clew/server/symbols"
)

// stripped is a program that was stripped, with a backtrace in it, and what the
// unstripped one says of that.
type stripped struct {
	folder, debug string
	id            string
	backtrace     *document.Document
	want          [][]document.Call
}

func makeStripped(t *testing.T) stripped {
	t.Helper()
	testneed.Platform(t, "linux/amd64")
	dir := t.TempDir()
	s := stripped{folder: filepath.Join(dir, "debug"), debug: filepath.Join(dir, "debug", "p.debug")}
	source, whole := filepath.Join(dir, "p.c"), filepath.Join(dir, "p")
	if err := os.Mkdir(s.folder, 0o700); err != nil {
		t.Fatal(err)
	}
	text := "__attribute__((noinline)) int leaf(int x) { return x * 3; }\n__attribute__((noinline)) int middle(int x) { return leaf(x) + 1; }\nint main(int c, char **v) { return middle(c) + 1; }\n"
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{testneed.Tool(t, "gcc"), "-g", "-O1", "-pie", "-fPIE", "-Wl,--build-id", "-o", whole, source},
		{testneed.Tool(t, "objcopy"), "--only-keep-debug", whole, s.debug},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	f, err := symbols.Open(whole)
	if err != nil {
		t.Fatal(err)
	}
	const base = 0x7f0000000000
	s.id = hex.EncodeToString(f.BuildID())
	images, err := imagemap.New(imagemap.Word64, "", []imagemap.Image{{Base: base, EndOfText: base + 0x100000, BuildID: f.BuildID(), Path: "/gone/p"}})
	if err != nil {
		t.Fatal(err)
	}
	s.backtrace = &document.Document{WordSize: cbf.Word64, Architecture: "x86_64", Complete: true, Images: images}
	for i, name := range []string{"leaf", "middle", "main"} {
		frame, at := cbf.Frame{Kind: cbf.RA, Address: base + f.Find(name)[0] + 9}, f.Find(name)[0]+8
		if i == 0 {
			frame, at = cbf.Frame{Kind: cbf.PC, Address: base + f.Find(name)[0]}, f.Find(name)[0]
		}
		s.backtrace.Frames = append(s.backtrace.Frames, frame)
		var calls []document.Call
		for _, c := range f.Calls(at) {
			calls = append(calls, document.Call{Function: c.Function, File: c.File, Line: c.Line})
		}
		s.want = append(s.want, calls)
	}
	if got := s.want[2][len(s.want[2])-1]; got.Function != "main" || got.Line != 3 {
		t.Fatalf("%+v", s.want)
	}
	return s
}

// TestDecodeSymbols: a backtrace of a stripped program gets the words of the
// unstripped one, from every format, from a folder, a file and a server.
func TestDecodeSymbols(t *testing.T) {
	s := makeStripped(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, s.id+"/debuginfo") {
			http.NotFound(w, r)
			return
		}
		http.ServeFile(w, r, s.debug)
	}))
	defer server.Close()
	t.Setenv("DEBUGINFOD_URLS", server.URL)
	t.Setenv("DEBUGINFOD_CACHE_PATH", t.TempDir())

	encode := func(to document.Format) []byte {
		data, err := s.backtrace.Encode(to, false)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var plain strings.Builder
	if err := s.backtrace.WriteJSON(&plain); err != nil {
		t.Fatal(err)
	}
	profile := execute(encodeCommand(), plain.String(), "--to", "pprof", "-")
	if profile.code != 0 {
		t.Fatalf("%+v", profile)
	}
	images := file(t, "x.cif", encode(document.ImageMap))
	for format, args := range map[string][]string{
		"cbf":   {"--images", images, file(t, "x.cbf", encode(document.CBF))},
		"swift": {file(t, "x.json", encode(document.Swift))},
		"json":  {file(t, "x.json", []byte(plain.String()))},
		"pprof": {file(t, "x.pb.gz", []byte(profile.out))},
	} {
		for _, place := range []string{s.folder, s.debug, "debuginfod"} {
			got := execute(decodeCommand(), "", append([]string{"--format", "json", "--symbols", place}, args...)...)
			if got.code != 0 || got.errors != "" {
				t.Errorf("%s from %s: %+v", format, place, got)
				continue
			}
			for d, err := range document.Parse([]byte(got.out)) {
				if err != nil {
					t.Fatalf("%s: %v", format, err)
				}
				if !reflect.DeepEqual(d.Calls, s.want) || !reflect.DeepEqual(d.Frames, s.backtrace.Frames) {
					t.Errorf("%s from %s: %+v %+v, want %+v", format, place, d.Frames, d.Calls, s.want)
				}
			}
			text := execute(decodeCommand(), "", append([]string{"--symbols", place}, args...)...)
			if !strings.Contains(text.out, "  middle  ") || !strings.Contains(text.out, "p.c:2\n") {
				t.Errorf("%s from %s:\n%s", format, place, text.out)
			}
		}
	}
}

// TestDecodeSymbolsMissing: missing symbols are reported, and the frames are shown.
func TestDecodeSymbolsMissing(t *testing.T) {
	s := makeStripped(t)
	data, err := s.backtrace.Encode(document.Swift, false)
	if err != nil {
		t.Fatal(err)
	}
	in := file(t, "x.json", data)
	t.Setenv("DEBUGINFOD_URLS", "")
	for place, want := range map[string]string{t.TempDir(): "note: no symbols of \"/gone/p\": nothing of build " + s.id, "debuginfod": "DEBUGINFOD_URLS is not set", "/none": "/none: no such file"} {
		got := execute(decodeCommand(), "", "--symbols", place, in)
		if !strings.Contains(got.errors, want) || len(lines(got.errors)) != 1 || (got.code == 0) != strings.Contains(want, "note") || got.code == 0 && !strings.Contains(got.out, "p+0x") {
			t.Errorf("%s: %+v", place, got)
		}
	}
	backtrace, err := s.backtrace.Encode(document.CBF, false)
	if err != nil {
		t.Fatal(err)
	}
	if got := execute(decodeCommand(), "", "--symbols", s.folder, file(t, "x.cbf", backtrace)); got.code != exitFailed || !strings.Contains(got.errors, "--images") {
		t.Errorf("without an image map: %+v", got)
	}
}
