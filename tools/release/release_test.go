package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSameBytes: no folder, no order and no file's time shows in what is packed: archive,
// packages and bill of materials of one binary are the same from another folder, later.
// That the binary is the same too is what -twice proves; it takes minutes.
func TestSameBytes(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	modules, err := modulesOf(self)
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "clew") // small: what it holds does not matter here
	if err := os.WriteFile(binary, bytes.Repeat([]byte("clew"), 1<<16), 0o755); err != nil {
		t.Fatal(err)
	}
	first := packOnce(t, "../..", binary, modules)
	time.Sleep(1100 * time.Millisecond) // archives have times in seconds
	elsewhere := t.TempDir()
	err = os.CopyFS(filepath.Join(elsewhere, "docs"), os.DirFS("../../docs"))
	for _, name := range []string{"README.md", "LICENSE"} {
		data, err2 := os.ReadFile(filepath.Join("../..", name))
		err = errors.Join(err, err2, os.WriteFile(filepath.Join(elsewhere, name), data, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	second := packOnce(t, elsewhere, binary, modules)
	if len(first) != 4 || len(second) != 4 {
		t.Errorf("%d and %d files, want an archive, two packages and checksums", len(first), len(second))
	}
	for name, data := range first {
		if !bytes.Equal(data, second[name]) {
			t.Errorf("%s differs", name)
		}
	}
}

// packOnce packs the binary with the documents of a source tree, and returns the files.
func packOnce(t *testing.T, source, binary string, modules []module) map[string][]byte {
	t.Helper()
	r := &release{
		version: "v1.28.0", at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		source: source, work: t.TempDir(), out: t.TempDir(),
	}
	for _, name := range []string{"man/clew.1", completions["bash"], completions["zsh"], completions["fish"]} {
		path := filepath.Join(r.work, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("made by clew\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	content, err := r.content(binary, modules)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.archive("clew_1.28.0_linux_amd64", content), r.packages(target{"linux", "amd64"}, content), r.checksums()); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, name := range r.files {
		if files[name], err = os.ReadFile(filepath.Join(r.out, name)); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// TestRecipes: the recipes name every archive with its checksum, and nothing is left to
// fill in. Whole releases alone have them.
func TestRecipes(t *testing.T) {
	r := &release{version: "v1.28.0", out: t.TempDir()}
	archives, sums := map[target]string{}, map[string]string{}
	for name := range strings.SplitSeq(allTargets, ",") {
		system, arch, _ := strings.Cut(name, "/")
		archive := "clew_1.28.0_" + system + "_" + arch + ".tar.gz"
		if err := r.write(archive, []byte(name)); err != nil {
			t.Fatal(err)
		}
		sum, err := r.checksum(archive)
		if err != nil {
			t.Fatal(err)
		}
		archives[target{system, arch}], sums[archive] = archive, sum
	}
	if err := r.recipes(archives); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"clew.rb", "clew.nix", "Dockerfile"} {
		text, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil || strings.Contains(string(text), "[[") || !strings.Contains(string(text), "1.28.0") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
		for archive, sum := range sums {
			if n := strings.Count(string(text), sum); name != "Dockerfile" && n != 1 { // which has the archives beside it
				t.Errorf("%s has the checksum of %s %d times", name, archive, n)
			}
		}
	}
}
