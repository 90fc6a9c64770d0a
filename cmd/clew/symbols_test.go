package main

import (
	"debug/elf"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

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
			calls = append(calls, document.Call{Function: c.Function, File: c.File, Line: c.Line, Column: c.Column})
		}
		s.want = append(s.want, calls)
	}
	if got := s.want[2][len(s.want[2])-1]; got.Function != "main" || got.Line != 3 {
		t.Fatalf("%+v", s.want)
	}
	return s
}

// everyFormat writes a backtrace in all formats that documents are read from, and returns
// what clew decode is given to read them.
func everyFormat(t *testing.T, d *document.Document) map[string][]string {
	t.Helper()
	encode := func(to document.Format) []byte {
		data, err := d.Encode(to, false)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var plain strings.Builder
	if err := d.WriteJSON(&plain); err != nil {
		t.Fatal(err)
	}
	profile := execute(encodeCommand(), plain.String(), "--to", "pprof", "-")
	if profile.code != 0 {
		t.Fatalf("%+v", profile)
	}
	return map[string][]string{
		"cbf":   {"--images", file(t, "x.cif", encode(document.ImageMap)), file(t, "x.cbf", encode(document.CBF))},
		"swift": {file(t, "x.json", encode(document.Swift))},
		"json":  {file(t, "x.json", []byte(plain.String()))},
		"pprof": {file(t, "x.pb.gz", []byte(profile.out))},
	}
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

	for format, args := range everyFormat(t, s.backtrace) {
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

// TestDecodeSymbolsBad: debug files with nonsense in them cost the words that they are
// wrong in: every frame comes, in little time, and what is wrong is named once.
func TestDecodeSymbolsBad(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	huge := "leaf" + strings.Repeat("x", 1<<20)
	for name, tc := range map[string]struct {
		source string
		damage func(asm string) string
		want   string // on stderr; nothing for names
	}{
		"line table": {badSource, func(asm string) string {
			return replaceAll(asm, `(?s)(\.section\s+\.debug_line,[^\n]*\n).*?(\.section)`, "$1.Ldebug_line0:\n.long 100\n.value 5\n.fill 98, 1, 0xff\n$2")
		}, "line"},
		"abstract origin": {badSource, ownOrigins, "origin"},
		"name":            {strings.ReplaceAll(badSource, "leaf", huge), func(asm string) string { return asm }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			debug, in := badFile(t, tc.source, tc.damage)
			start := time.Now()
			got := execute(decodeCommand(), "", "--symbols", debug, in)
			if took := time.Since(start); took > testneed.Patience(10*time.Second) {
				t.Errorf("it took %v", took)
			}
			if got.code != 0 || strings.Count(got.out, "  ra  ")+strings.Count(got.out, "  pc  ") != 3 || len(got.out) > 100<<10 {
				t.Errorf("exit code %d, %d bytes: %.3000s", got.code, len(got.out), got.out)
			}
			if n := strings.Count(got.errors, "\n"); n > 1 || (n == 1) != (tc.want != "") || !strings.Contains(got.errors, tc.want) {
				t.Errorf("%.3000s", got.errors)
			}
		})
	}
}

const badSource = `
static inline __attribute__((always_inline)) int twice(int x) { return x * 2 + (x >> 3); }
__attribute__((noinline)) int leaf(int x) { return twice(x) + 1; }
__attribute__((noinline)) int middle(int x) { return leaf(twice(x)) + 1; }
int main(int argc, char **argv) { return middle(argc) + 1; }
`

func replaceAll(text, pattern, with string) string {
	return regexp.MustCompile(pattern).ReplaceAllString(text, with)
}

// ownOrigins makes every entry its own abstract origin. The compiler's comments say where
// entries are.
func ownOrigins(asm string) string {
	entry, origin := regexp.MustCompile(`\(DIE \((0x[0-9a-f]+)\)`), regexp.MustCompile(`^(\s+\.long\s+)\S+(.*DW_AT_abstract_origin)`)
	at := ""
	var out strings.Builder
	for line := range strings.Lines(asm) {
		if m := entry.FindStringSubmatch(line); m != nil {
			at = m[1]
		}
		out.WriteString(origin.ReplaceAllString(line, "${1}"+at+"$2"))
	}
	return out.String()
}

// badFile builds a program whose assembler's text was damaged, and returns its debug file
// and a backtrace that lies in it.
func badFile(t *testing.T, source string, damage func(string) string) (debug, backtrace string) {
	t.Helper()
	gcc := testneed.Tool(t, "gcc")
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%.3000s", args, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("p.c", source)
	// The compiler's own line table, not the assembler's, so that it can be damaged.
	run(gcc, "-g", "-O1", "-fPIE", "-dA", "-gno-as-loc-support", "-S", "-o", path("p.s"), path("p.c"))
	asm, err := os.ReadFile(path("p.s"))
	if err != nil {
		t.Fatal(err)
	}
	write("p.s", damage(string(asm)))
	run(gcc, "-pie", "-Wl,--build-id", "-o", path("p"), path("p.s"))
	run(testneed.Tool(t, "objcopy"), "--only-keep-debug", path("p"), path("p.debug"))
	f, err := symbols.Open(path("p"))
	if err != nil {
		t.Fatal(err)
	}
	at := symbolsOf(t, path("p"))
	const base = 0x7f0000000000
	images, err := imagemap.New(imagemap.Word64, "", []imagemap.Image{{Base: base, EndOfText: base + 0x1000000, BuildID: f.BuildID(), Path: "/gone/p"}})
	if err != nil {
		t.Fatal(err)
	}
	d := &document.Document{WordSize: cbf.Word64, Architecture: "x86_64", Complete: true, Images: images}
	for i, name := range regexp.MustCompile(`leafx*|middle|main`).FindAllString(strings.ReplaceAll(source, "int middle(int x) { return leaf", ""), 3) {
		kind := cbf.RA
		if i == 0 {
			kind = cbf.PC
		}
		d.Frames = append(d.Frames, cbf.Frame{Kind: kind, Address: base + at[name] + 4})
	}
	data, err := d.Encode(document.Swift, false)
	if err != nil {
		t.Fatal(err)
	}
	return path("p.debug"), file(t, "x.json", data)
}

// TestDecodeSymbolsLabel: in a stripped library without tables, code behind the one label
// that it exports may belong to another function, which every format says alike.
func TestDecodeSymbolsLabel(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	dir := t.TempDir()
	source, library := filepath.Join(dir, "a.s"), filepath.Join(dir, "a.so")
	text := ".text\n.globl label\nlabel: ret\n.fill 15, 1, 0x90\nhidden: call hidden\n ret\n"
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(testneed.Tool(t, "gcc"), "-shared", "-nostdlib", "-s", "-Wl,--build-id", "-o", library, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := symbols.Open(library)
	if err != nil {
		t.Fatal(err)
	}
	const base, behind = 0x7f0000000000, 0x15 // where the call in hidden returns to
	images, err := imagemap.New(imagemap.Word64, "", []imagemap.Image{{Base: base, EndOfText: base + 0x100000, BuildID: f.BuildID(), Path: "/gone/a.so"}})
	if err != nil {
		t.Fatal(err)
	}
	label := f.Find("label")[0]
	d := &document.Document{WordSize: cbf.Word64, Architecture: "x86_64", Complete: true, Images: images, Frames: []cbf.Frame{
		{Kind: cbf.PC, Address: base + label}, {Kind: cbf.RA, Address: base + label + behind},
	}}
	for format, args := range everyFormat(t, d) {
		got := execute(decodeCommand(), "", append([]string{"--symbols", dir}, args...)...)
		if got.code != 0 || !strings.Contains(got.out, "  label+0x15?\n") || strings.Contains(got.out, "  label\n") {
			t.Errorf("%s: %+v", format, got)
		}
	}
}

// symbolsOf returns the values of a file's symbols, also of those whose names clew does
// not read.
func symbolsOf(t *testing.T, path string) map[string]uint64 {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	values := make(map[string]uint64)
	for _, s := range list {
		values[s.Name] = s.Value
	}
	return values
}
