package unpacked

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

// random is a section's contents.
func random(n int) []byte {
	data := make([]byte, n)
	r := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

// ofFile returns what tells a file from others, which has not changed for a while.
func ofFile(t *testing.T) fs.FileInfo {
	t.Helper()
	testneed.Platform(t, "linux/amd64", "linux/arm64")
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("contents"), 0o600); err != nil {
		t.Fatal(err)
	}
	time.Sleep(settled + 100*time.Millisecond)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// opened counts how often a section is decompressed.
func opened(data []byte, times *int) func() (io.Reader, error) {
	return func() (io.Reader, error) { *times++; return bytes.NewReader(data), nil }
}

func read(t *testing.T, r io.ReaderAt, data []byte, off, n int) {
	t.Helper()
	got := make([]byte, n)
	if _, err := r.ReadAt(got, int64(off)); err != nil || !bytes.Equal(got, data[off:off+n]) {
		t.Fatalf("%d bytes at %#x: %v", n, off, err)
	}
}

// TestKeep: a section is decompressed once, and again where what was kept of it has changed.
func TestKeep(t *testing.T) {
	file, cache := ofFile(t), In(filepath.Join(t.TempDir(), "sections"))
	data, times := random(3*stride+block+17), 0
	section := func() io.ReaderAt { return cache.Section(file, ".debug_info", uint64(len(data)), opened(data, &times)) }
	for range 3 {
		r := section()
		read(t, r, data, 70_000, 100_000)
		read(t, r, data, len(data)-20, 20)
		read(t, r, data, 0, 1)
		if _, err := r.ReadAt(make([]byte, 2), int64(len(data)-1)); !errors.Is(err, io.EOF) {
			t.Errorf("beyond the end: %v", err)
		}
	}
	if times != 1 {
		t.Errorf("decompressed %d times", times)
	}
	kept, err := filepath.Glob(filepath.Join(cache.dir, "*"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("%q, %v", kept, err)
	}
	r := section() // was opened before the damage
	for _, damage := range []func() error{
		func() error { return overwrite(kept[0], 80_000) },
		func() error { return os.Truncate(kept[0], 1000) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		read(t, section(), data, 70_000, 100_000)
	}
	read(t, r, data, 70_000, 100_000)
	if times < 3 {
		t.Errorf("decompressed %d times: damaged contents were taken", times)
	}
}

func overwrite(path string, at int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte("damage"), at)
	return errors.Join(err, f.Close())
}

// TestShort: a section that ends early is an error, and is not kept.
func TestShort(t *testing.T) {
	file, cache := ofFile(t), In(filepath.Join(t.TempDir(), "sections"))
	data, times := random(Least), 0
	r := cache.Section(file, ".debug_info", 2*Least, opened(data, &times))
	for range 2 {
		if _, err := r.ReadAt(make([]byte, 1), 2*Least-1); !errors.Is(err, errPastEnd) {
			t.Error(err)
		}
	}
	if again := cache.Section(file, ".debug_info", 2*Least, opened(data, &times)); again.(*section).kept != nil {
		t.Error("it was kept")
	}
}

// TestRoom: what was not used for longest goes, and what a process has left unfinished.
func TestRoom(t *testing.T) {
	testneed.Platform(t, "linux/amd64", "linux/arm64")
	cache := In(filepath.Join(t.TempDir(), "sections"))
	for i, name := range []string{"oldest", "old", "new", partial + "left"} {
		path := filepath.Join(cache.dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		used := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := errors.Join(os.Truncate(path, MaxCache/4), os.Chtimes(path, used, used)); err != nil { // without contents
			t.Fatal(err)
		}
	}
	written, err := cache.create(MaxCache / 2)
	if err != nil {
		t.Fatal(err)
	}
	defer written.Close()
	other, err := cache.create(0)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for name, want := range map[string]bool{"oldest": false, "old": true, "new": true, partial + "left": false, filepath.Base(written.Name()): true} {
		if _, err := os.Stat(filepath.Join(cache.dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFolder: a folder that others may write to is no cache.
func TestFolder(t *testing.T) {
	testneed.Platform(t, "linux/amd64", "linux/arm64")
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if In(dir) != nil {
		t.Error("it is used")
	}
	var none *Cache
	if none.Section(nil, "", 2*Least, nil) != nil {
		t.Error("a section of no cache")
	}
}
