package symbols

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// split is a library whose debugging information is in a file of its own.
type split struct {
	dir     string
	whole   string // before it was split
	library string // stripped
	debug   string // not in a searched place
	tools   map[string]string
}

func newSplit(t *testing.T, flags ...string) *split {
	t.Helper()
	s := &split{dir: t.TempDir(), tools: map[string]string{}}
	for _, name := range []string{"objcopy", "strip"} {
		s.tools[name] = testneed.Tool(t, name)
	}
	s.tools["cc"] = testneed.CC(t)
	source := s.path(t, "source.c")
	s.write(t, source, "static __attribute__((noinline)) int hidden(int x)\n{\n\treturn x * 3;\n}\n\nint visible(int x) { return hidden(x) + 1; }\n")
	s.whole, s.library, s.debug = s.path(t, "whole.so"), s.path(t, "bin", "library.so"), s.path(t, "elsewhere", "library.debug")
	s.run(t, "cc", append([]string{"-g", "-O1", "-shared", "-fPIC", "-fno-asynchronous-unwind-tables", "-o", s.whole, source}, flags...)...)
	s.run(t, "objcopy", "--only-keep-debug", s.whole, s.debug)
	s.run(t, "strip", "-s", "-o", s.library, s.whole)
	s.run(t, "objcopy", "--add-gnu-debuglink="+s.debug, s.library)
	return s
}

// path makes a path below the folder, and the folders on the way.
func (s *split) path(t *testing.T, parts ...string) string {
	t.Helper()
	path := filepath.Join(append([]string{s.dir}, parts...)...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func (s *split) write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (s *split) run(t *testing.T, tool string, args ...string) {
	t.Helper()
	if out, err := exec.Command(s.tools[tool], args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v: %s", tool, args, err, out)
	}
}

// put copies the debug file to a place.
func (s *split) put(t *testing.T, parts ...string) {
	t.Helper()
	data, err := os.ReadFile(s.debug)
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, s.path(t, parts...), string(data))
}

// buildID returns the folder and name of the library's build ID.
func (s *split) buildID(t *testing.T) (folder, name string) {
	t.Helper()
	f, err := Open(s.library)
	if err != nil {
		t.Fatal(err)
	}
	id := hex.EncodeToString(f.BuildID())
	if id == "" {
		t.Fatal("the library has no build ID")
	}
	return id[:2], id[2:] + ".debug"
}

func (s *split) open(t *testing.T) *File {
	t.Helper()
	f, err := OpenWithDebug(s.library, DebugSearch{
		Known: "/lib/where/library.so", Beside: filepath.Dir(s.library),
		Folders: []string{filepath.Join(s.dir, "nowhere"), filepath.Join(s.dir, "debug")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// hidden is where the function lies that only the debug file names.
func (s *split) hidden(t *testing.T) (*File, Bounds) {
	t.Helper()
	whole, err := Open(s.whole)
	if err != nil {
		t.Fatal(err)
	}
	at := whole.Find("hidden")
	if len(at) != 1 {
		t.Fatalf("hidden is at %#x", at)
	}
	b, _ := whole.FunctionBounds(at[0])
	return whole, b
}

// used demands that a file knows all that it knew before it was split.
func (s *split) used(t *testing.T, f *File) {
	t.Helper()
	if p := f.Problems(); len(p) > 0 {
		t.Errorf("problems: %v", p)
	}
	whole, want := s.hidden(t)
	if got, ok := f.FunctionBounds(want.Start); !ok || got != want {
		t.Errorf("hidden has bounds %+v (%v), want %+v", got, ok, want)
	}
	lines := false
	for pc := want.Start; pc < want.End; pc++ {
		got, want := f.Calls(pc), whole.Calls(pc)
		if !slices.Equal(got, want) {
			t.Errorf("%#x is %+v, want %+v", pc, got, want)
		}
		lines = lines || len(got) == 1 && got[0].Line == 3
	}
	if !lines {
		t.Error("no instruction of hidden has its line")
	}
	got, ok := f.Section(".debug_frame")
	frame, _ := whole.Section(".debug_frame")
	if !ok || len(frame.Data) == 0 || !bytes.Equal(got.Data, frame.Data) || got.Loaded {
		t.Errorf(".debug_frame has %d bytes (%v), want %d", len(got.Data), ok, len(frame.Data))
	}
	text, _ := f.Section(".text") // of which the debug file has the header alone
	if want, _ := whole.Section(".text"); !bytes.Equal(text.Data, want.Data) {
		t.Error(".text is not the library's")
	}
}

// unused demands that a file has its own symbols only.
func (s *split) unused(t *testing.T, f *File) {
	t.Helper()
	_, hidden := s.hidden(t)
	if b, ok := f.FunctionBounds(hidden.Start); ok && b.Name == "hidden" {
		t.Errorf("hidden is known: %+v", b)
	}
	if _, ok := f.Section(".debug_frame"); ok {
		t.Error("there is a .debug_frame")
	}
}

const withID, withoutID = "-Wl,--build-id=sha1", "-Wl,--build-id=none"

func TestDebugFileIsFound(t *testing.T) {
	for _, c := range []struct {
		name, flag string
		place      func(t *testing.T, s *split) []string
	}{
		{"by build ID", withID, func(t *testing.T, s *split) []string {
			folder, name := s.buildID(t)
			return []string{"debug", ".build-id", folder, name}
		}},
		{"beside it", withoutID, func(*testing.T, *split) []string { return []string{"bin", "library.debug"} }},
		{"in .debug beside it", withoutID, func(*testing.T, *split) []string { return []string{"bin", ".debug", "library.debug"} }},
		{"by its path", withoutID, func(*testing.T, *split) []string { return []string{"debug", "lib", "where", "library.debug"} }},
		{"by its path, with build ID", withID, func(*testing.T, *split) []string { return []string{"debug", "lib", "where", "library.debug"} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSplit(t, c.flag)
			s.unused(t, s.open(t))
			s.put(t, c.place(t, s)...)
			s.used(t, s.open(t))
		})
	}
}

func TestCompressedDebugFile(t *testing.T) {
	for _, form := range []string{"none", "zlib", "zlib-gnu", "zstd"} {
		t.Run(form, func(t *testing.T) {
			s := newSplit(t, withID)
			if out, err := exec.Command(s.tools["objcopy"], "--compress-debug-sections="+form, s.debug).CombinedOutput(); err != nil {
				testneed.LeaveOut(t, "this objcopy does not know --compress-debug-sections=%s: %s", form, bytes.TrimSpace(out))
			}
			s.put(t, "bin", "library.debug")
			s.used(t, s.open(t))
			// The same where nothing was split.
			s.run(t, "objcopy", "--compress-debug-sections="+form, s.whole, s.library)
			whole := *s
			s.used(t, whole.open(t))
		})
	}
}

// A debug file of another build is named, and not used; one elsewhere that is
// right still is.
func TestDebugFileOfAnotherBuild(t *testing.T) {
	for _, c := range []struct {
		name, flag, word string
		by               string // build ID or link
	}{
		{"build ID, by build ID", withID, "build ID", "id"},
		{"build ID, by link", withID, "build ID", "link"},
		{"checksum", withoutID, "checksum", "link"},
		{"no build ID, by build ID", withoutID, "build ID none", "foreign id"},
		{"not ELF", withoutID, "bad magic", "text"},
		{"a folder", withoutID, "not a regular file", "folder"},
		{"another place", withID, ".text", "moved"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSplit(t, c.flag)
			other := newSplit(t, c.flag, "-DOTHER=1", "-O2", "-fcf-protection=none", "-Wl,--hash-style=both")
			right := *s
			switch c.by {
			case "id":
				folder, name := s.buildID(t)
				s.debug = other.debug
				s.put(t, "debug", ".build-id", folder, name)
			case "link":
				s.debug = other.debug
				s.put(t, "bin", "library.debug")
			case "foreign id":
				s = newSplit(t, withID)
				right = *s
				folder, name := s.buildID(t)
				s.debug = other.debug
				s.put(t, "debug", ".build-id", folder, name)
			case "text":
				s.write(t, s.path(t, "bin", "library.debug"), "not at all what one would want here, and yet long enough to be looked at as a file in earnest")
			case "folder":
				s.path(t, "bin", "library.debug", "inside")
			case "moved":
				folder, name := s.buildID(t)
				s.run(t, "objcopy", "--change-section-address", ".text+0x100", s.debug)
				s.put(t, "debug", ".build-id", folder, name)
			}
			f := s.open(t)
			s.unused(t, f)
			problems := f.Problems()
			if len(problems) != 1 {
				t.Fatalf("problems %v", problems)
			}
			var e *DebugFileError
			if !errors.As(problems[0], &e) || e.Of != "/lib/where/library.so" || !strings.Contains(e.Error(), c.word) {
				t.Errorf("%v does not say %q", problems[0], c.word)
			}
			if c.by == "moved" {
				return
			}
			right.put(t, "debug", "lib", "where", "library.debug")
			f = right.open(t)
			if len(f.Problems()) != 1 {
				t.Errorf("problems %v", f.Problems())
			}
			f.problems = nil
			right.used(t, f)
		})
	}
}

// Names in .gnu_debuglink are names, not ways out of the folder.
func TestDebugLinkIsAName(t *testing.T) {
	for _, name := range []string{"../secret", "/etc/passwd", "..", ".", ""} {
		link := append([]byte(name), 0)
		for len(link)%4 != 0 {
			link = append(link, 0)
		}
		s := testSection{".gnu_debuglink", append(link, 1, 2, 3, 4)}
		image := testELF(binary.LittleEndian, nil, s)
		f, err := New(bytes.NewReader(image), int64(len(image)))
		if err != nil {
			t.Fatal(err)
		}
		if got, _, ok := f.object.(*elfFile).debugLink(); ok {
			t.Errorf("%q is taken for %q", name, got)
		}
	}
	for _, data := range [][]byte{nil, {'x'}, {'x', 0}, {'x', 0, 0, 0}, {'x', 0, 0, 0, 1, 2, 3}} {
		image := testELF(binary.LittleEndian, nil, testSection{".gnu_debuglink", data})
		f, err := New(bytes.NewReader(image), int64(len(image)))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, ok := f.object.(*elfFile).debugLink(); ok {
			t.Errorf("%q is whole", data)
		}
	}
}

// A .zdebug section that lies about its size.
func TestOldCompressionLies(t *testing.T) {
	good := newSplit(t, withID)
	good.run(t, "objcopy", "--compress-debug-sections=zlib-gnu", good.whole)
	data, err := os.ReadFile(good.whole)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []string{"\xff\xff\xff\xff\xff\xff\xff\xff", "\x00\x00\x00\x40\x00\x00\x00\x00", "\x00\x00\x00\x00\x00\x00\x00\x01"} {
		lie := bytes.Clone(data)
		n := 0
		for at := 0; ; n++ {
			i := bytes.Index(lie[at:], []byte("ZLIB\x00"))
			if i < 0 {
				break
			}
			at += i + 4
			copy(lie[at:], size)
		}
		if n == 0 {
			t.Fatal("nothing is compressed")
		}
		f, err := New(bytes.NewReader(lie), int64(len(lie)))
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := f.Section(".debug_frame"); ok && len(c.Data) > 1<<20 {
			t.Errorf("%x: .debug_frame has %d bytes", size, len(c.Data))
		}
		_, hidden := good.hidden(t)
		if c := f.Calls(hidden.Start); len(c) != 1 || c[0].Line != 0 {
			t.Errorf("%x: %+v", size, c)
		}
	}
}
