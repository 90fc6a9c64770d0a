package delve

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/elffile"
	"github.com/clewdbg/clew/internal/testneed"
)

// TestCheckedOnce: a file that has passed is not read again, not by another process either; one that was written since is,
// whatever time of modification it has.
func TestCheckedOnce(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	defer func(before time.Duration) { settled = before }(settled)
	settled = -time.Minute
	dir := t.TempDir()
	source, path := filepath.Join(dir, "f.c"), filepath.Join(dir, "f.o")
	if err := os.WriteFile(source, []byte("int f(int n) { return n + 1; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(testneed.CC(t), "-g", "-c", "-o", path, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	check := func() error {
		f, err := elffile.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return checkOnce(f)
	}
	kept := func() int {
		known, _ := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "clew", "checked", "*"))
		return len(known)
	}
	if err := check(); err != nil || kept() != 1 {
		t.Fatalf("%v, %d kept", err, kept())
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	damageLines(t, path)
	if err := os.Chtimes(path, before.ModTime(), before.ModTime()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := check(); err == nil || kept() != 1 {
			t.Errorf("the damaged file: %v, %d kept", err, kept())
		}
	}
	// What another process has kept counts.
	f, err := elffile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	keepPassed(passedFile(stateName(f.Info)))
	if err := checkOnce(f); err != nil {
		t.Errorf("it was not taken from the cache: %v", err)
	}
	settled = time.Hour // the file is too young
	passed.Clear()
	if err := os.RemoveAll(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "clew")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, mustRead(t, source+".o"), 0o600); err != nil || check() != nil || kept() != 0 {
		t.Errorf("%d kept", kept())
	}
}

// damageLines makes the first line table longer than its section.
func damageLines(t *testing.T, path string) {
	t.Helper()
	whole := mustRead(t, path)
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "f.c.o"), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	copy(whole[f.Section(".debug_line").Offset:], []byte{0, 0, 0, 0x7f})
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// BenchmarkCheck reads this test's own executable as it is read before Delve is given a file for the first time.
// CLEW_CHECKED names another file.
func BenchmarkCheck(b *testing.B) {
	path := os.Getenv("CLEW_CHECKED")
	if path == "" {
		path = "/proc/self/exe"
	}
	for b.Loop() {
		f, err := elffile.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		if err := checkSections(f); err != nil {
			b.Fatal(err)
		}
		_ = f.Close()
	}
}
