package export_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/unwind"
)

func contents(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// listed lists a folder, hidden files too.
func listed(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	if got := listed(t, dir); !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", dir, got, want)
	}
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := export.WriteFile(path, contents("one")); err != nil {
		t.Fatal(err)
	}
	// A new file has the permissions that any new file has.
	other := filepath.Join(t.TempDir(), "b")
	if err := os.WriteFile(other, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if got, want := mode(t, path), mode(t, other); got != want {
		t.Errorf("mode %v, want %v", got, want)
	}

	// What fails leaves the old file, and nothing else.
	failed := errors.New("out of ideas")
	err := export.WriteFile(path, func(w io.Writer) error {
		if err := contents(strings.Repeat("x", 1<<20))(w); err != nil {
			return err
		}
		return failed
	})
	if !errors.Is(err, failed) || read(t, path) != "one" {
		t.Errorf("%v, %q", err, read(t, path))
	}
	wantNames(t, dir, "a")

	// A file keeps its permissions, a link its target.
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("a", link); err != nil {
		t.Fatal(err)
	}
	if err := export.WriteFile(link, contents("two")); err != nil {
		t.Fatal(err)
	}
	if got := mode(t, path); read(t, path) != "two" || got != 0o640 {
		t.Errorf("%q, mode %v", read(t, path), got)
	}
	wantNames(t, dir, "a", "link")

	for _, bad := range []struct{ path, wantText string }{
		{dir, "it is a folder"},
		{filepath.Join(dir, "none", "x"), "make its folder first"},
		{filepath.Join(path, "x"), "not a directory"},
		{filepath.Join(dir, strings.Repeat("n", 300)), "file name too long"},
	} {
		err := export.WriteFile(bad.path, contents("x"))
		if err == nil || !strings.Contains(err.Error(), "write "+bad.path+": ") || !strings.Contains(err.Error(), bad.wantText) || strings.Contains(err.Error(), ".tmp") {
			t.Errorf("%v, want %q", err, bad.wantText)
		}
	}
	wantNames(t, dir, "a", "link")
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

// A path that is no regular file is written to, not replaced.
func TestWriteFileToDevice(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	path := fmt.Sprintf("/proc/self/fd/%d", w.Fd())
	if _, err := os.Stat(path); err != nil {
		path = fmt.Sprintf("/dev/fd/%d", w.Fd())
	}
	if err := export.WriteFile(path, contents("piped")); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if got, err := io.ReadAll(r); err != nil || string(got) != "piped" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestWriteStack(t *testing.T) {
	s := mixed()
	for _, tt := range []struct{ name, cif string }{{"x.cbf", "x.cif"}, {"x.trace", "x.trace.cif"}} {
		dir := t.TempDir()
		for range 2 { // an older one is replaced
			if err := export.WriteStack(filepath.Join(dir, tt.name), unwind.AMD64, &s, images(t)); err != nil {
				t.Fatal(err)
			}
		}
		wantNames(t, dir, slices.Sorted(slices.Values([]string{tt.name, tt.cif}))...)
		b, err := cbf.Decode([]byte(read(t, filepath.Join(dir, tt.name))), cbf.DecodeOptions{})
		if err != nil || !slices.Equal(b.Frames, export.Frames(&s)) {
			t.Errorf("%v, %v", b, err)
		}
		checkImages(t, filepath.Join(dir, tt.cif))
	}
	dir := t.TempDir()
	if err := export.WriteStack(filepath.Join(dir, "x.cif"), unwind.AMD64, &s, images(t)); err == nil || !strings.Contains(err.Error(), ".cbf") {
		t.Errorf("two files of one name: %v", err)
	}
	// Where the image map cannot be written there is no backtrace either.
	if err := os.Mkdir(filepath.Join(dir, "y.cif"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := export.WriteStack(filepath.Join(dir, "y.cbf"), unwind.AMD64, &s, images(t)); err == nil {
		t.Error("a folder was written to")
	}
	wantNames(t, dir, "y.cif")
	// Without images there is a map of none.
	if err := export.WriteStack(filepath.Join(dir, "z.cbf"), unwind.AMD64, &s, nil); err != nil {
		t.Error(err)
	}
	if m, err := imagemap.Decode([]byte(read(t, filepath.Join(dir, "z.cif"))), imagemap.DecodeOptions{}); err != nil || m.Len() != 0 {
		t.Errorf("%v, %v", m, err)
	}
}

func checkImages(t *testing.T, path string) {
	t.Helper()
	if m, err := imagemap.Decode([]byte(read(t, path)), imagemap.DecodeOptions{}); err != nil || !m.Equal(images(t)) {
		t.Errorf("%s: %v, %v", path, m, err)
	}
}

func TestWriteFolder(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "stacks")
	// Goroutine 1 is there twice: the second is told apart by its thread.
	twin := cut()
	twin.Goroutine = 1
	stacks := []unwind.Stack{mixed(), cut(), twin, {Goroutine: 12, Stop: unwind.End}}
	stacks[1].Thread = 8
	write := func(dir string, stacks []unwind.Stack) error {
		return export.WriteFolder(dir, setOf(t, stacks))
	}
	if err := write(dir, stacks); err != nil {
		t.Fatal(err)
	}
	wantNames(t, dir, "goroutine-1.cbf", "goroutine-12.cbf", "images.cif", "index.json", "thread-7.cbf", "thread-8.cbf")
	wantNames(t, parent, "stacks")
	checkImages(t, filepath.Join(dir, export.ImagesFile))
	var index export.Index
	if err := json.Unmarshal([]byte(read(t, filepath.Join(dir, export.IndexFile))), &index); err != nil {
		t.Fatal(err)
	}
	want := export.Index{Architecture: "amd64", Images: "images.cif", Stacks: []export.IndexEntry{
		{File: "goroutine-1.cbf", Goroutine: 1, Thread: 4711, Frames: 5, Stop: "end", Reason: "runtime.goexit"},
		{File: "thread-8.cbf", Thread: 8, Frames: 1, Stop: "truncated", Reason: "limit of 1 frame"},
		{File: "thread-7.cbf", Goroutine: 1, Thread: 7, Frames: 1, Stop: "truncated", Reason: "limit of 1 frame"},
		{File: "goroutine-12.cbf", Goroutine: 12, Stop: "end"},
	}}
	if index.Architecture != want.Architecture || index.Images != want.Images || !slices.Equal(index.Stacks, want.Stacks) {
		t.Errorf("got %+v\nwant %+v", index, want)
	}
	for i, e := range index.Stacks {
		b, err := cbf.Decode([]byte(read(t, filepath.Join(dir, e.File))), cbf.DecodeOptions{})
		if err != nil || !slices.Equal(b.Frames, export.Frames(&stacks[i])) {
			t.Errorf("%s: %v, %v", e.File, b, err)
		}
	}

	// An older export is replaced as a whole, its permissions kept.
	if err := os.Chmod(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := write(dir, stacks[:1]); err != nil {
		t.Fatal(err)
	}
	wantNames(t, dir, "goroutine-1.cbf", "images.cif", "index.json")
	if got := mode(t, dir); got != 0o750 {
		t.Errorf("mode %v", got)
	}
	// So is an empty folder, by whatever name, through a link, too.
	empty, link := filepath.Join(parent, "empty"), filepath.Join(parent, "link")
	if err := errors.Join(os.Mkdir(empty, 0o755), os.Symlink("empty", link)); err != nil {
		t.Fatal(err)
	}
	if err := write(link+"/", nil); err != nil {
		t.Fatal(err)
	}
	wantNames(t, empty, "images.cif", "index.json")
	wantNames(t, parent, "empty", "link", "stacks")

	// Two stacks that cannot be told apart leave the old folder.
	if err := write(dir, []unwind.Stack{cut(), cut()}); err == nil || !strings.Contains(err.Error(), "two stacks of thread 7") {
		t.Errorf("%v", err)
	}
	wantNames(t, dir, "goroutine-1.cbf", "images.cif", "index.json")
	wantNames(t, parent, "empty", "link", "stacks")
}

// Nothing of the user's is removed.
func TestWriteFolderRefusesForeign(t *testing.T) {
	for name, make := range map[string]func(dir string) error{
		"another file":            func(d string) error { return os.WriteFile(filepath.Join(d, "letter.txt"), nil, 0o666) },
		"stacks without an index": func(d string) error { return os.WriteFile(filepath.Join(d, "thread-1.cbf"), nil, 0o666) },
		"a folder called index":   func(d string) error { return os.Mkdir(filepath.Join(d, "index.json"), 0o777) },
	} {
		parent := t.TempDir()
		dir := filepath.Join(parent, "d")
		if err := errors.Join(os.Mkdir(dir, 0o755), make(dir)); err != nil {
			t.Fatal(err)
		}
		before := listed(t, dir)
		err := export.WriteFolder(dir, setOf(t, []unwind.Stack{mixed()}))
		if !errors.Is(err, export.ErrForeignFolder) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", name, err)
		}
		wantNames(t, dir, before...)
		wantNames(t, parent, "d")
	}
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := export.WriteFolder(file, setOf(t, nil)); err == nil || read(t, file) != "mine" {
		t.Errorf("%v, %q", err, read(t, file))
	}
}

func setOf(t *testing.T, stacks []unwind.Stack) *export.Set {
	t.Helper()
	return &export.Set{Arch: unwind.AMD64, Stacks: slices.Values(stacks), Images: images(t), All: true}
}
