package imagemap_test

import (
	"bufio"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/testneed"
)

// The reader agrees with the standard library's on real files: Go's own linker
// leaves the note outside PT_NOTE, others' linkers do not.
func TestReadBuildIDOfRealFiles(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		testneed.LeaveOut(t, "%v", err)
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var files []string
	builds := [][]string{{}, {"-ldflags=-s -w"}, {"-ldflags=-B none"}, {"-buildmode=pie"}}
	if testing.Short() {
		builds = builds[:3] // the last one compiles Go's runtime anew
	}
	for i, flags := range builds {
		file := filepath.Join(dir, fmt.Sprintf("program%d", i))
		build := exec.Command("go", append(append([]string{"build", "-o", file}, flags...), source)...)
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("go build %v: %v\n%s", flags, err, out)
		}
		files = append(files, file)
	}
	if others, err := filepath.Glob("/usr/bin/[a-d]*"); err == nil { // as many as this machine has
		files = append(files, others[:min(len(others), 40)]...)
	}
	found := 0
	for _, path := range files {
		want, ok := buildIDSection(t, path)
		if !ok {
			continue // a script
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := imagemap.ReadBuildID(file)
		_ = file.Close()
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: % x, %v; want % x", path, got, err, want)
		}
		if want != nil {
			found++
		}
	}
	if found < 3 {
		t.Errorf("%d files with a build ID: go build has left it out", found)
	}
}

// buildIDSection reads the build ID by section headers; nil where there is none.
// ok is false for what is no ELF file.
func buildIDSection(t *testing.T, path string) (id []byte, ok bool) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	section := f.Section(".note.gnu.build-id")
	if section == nil {
		return nil, true
	}
	data, err := section.Data()
	if err != nil || len(data) < 16 {
		t.Fatalf("%s: %v", path, err)
	}
	return data[16:], true
}

const waitVariable = "CLEW_TEST_WAIT"

// TestMain lets the test binary be a process to capture: it says it is there and
// waits until its input ends.
func TestMain(m *testing.M) {
	if os.Getenv(waitVariable) != "" {
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	os.Exit(m.Run())
}

// start runs a program that waits for its input to end, once it has answered.
func start(t *testing.T, path string) (pid int, memory *os.File) {
	t.Helper()
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), waitVariable+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	if _, err := io.WriteString(in, "ready\n"); err != nil { // what cat answers with
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if memory, err = os.Open(fmt.Sprintf("/proc/%d/mem", cmd.Process.Pid)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = memory.Close() })
	return cmd.Process.Pid, memory
}

// A dynamic program: every image agrees with what debug/elf says of its file, and
// with the bytes in memory.
func TestCaptureProgram(t *testing.T) {
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Fatal(err)
	}
	if cat, err = filepath.EvalSymlinks(cat); err != nil {
		t.Fatal(err)
	}
	pid, memory := start(t, cat)
	m, err := imagemap.Capture(pid, memory)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(m.Platform(), "Linux") {
		t.Errorf("platform %q", m.Platform())
	}
	if m.Len() < 2 {
		t.Fatalf("images: %v", m.Images())
	}
	for _, path := range []string{cat, "[vdso]"} {
		if img, ok := m.ByPath(path); !ok || len(img.BuildID) == 0 {
			t.Errorf("%s: %v, %v", path, img, ok)
		}
	}
	for _, img := range m.All() {
		l := img.Loaded
		if !l.HasBias || len(l.Executable) == 0 || img.Name != filepath.Base(img.Path) {
			t.Errorf("%v, %+v", img, l)
			continue
		}
		for _, x := range l.Executable {
			if got, ok := m.Lookup(x.Start); !ok || got.Base != img.Base {
				t.Errorf("%s: its code at %#x is found in %v", img.Path, x.Start, got)
			}
		}
		if img.Path == "[vdso]" {
			if l.File != imagemap.FileNone {
				t.Errorf("vdso: file %v", l.File)
			}
			continue
		}
		if l.File != imagemap.FilePresent {
			t.Errorf("%s: file %v", img.Path, l.File)
		}
		checkImage(t, img, memory)
	}

	// Without memory everything but the vdso is the same.
	bare, err := imagemap.Capture(pid, nil)
	if err != nil || bare.Len() != m.Len()-1 {
		t.Errorf("without memory: %d images, %v", bare.Len(), err)
	}
	// And the map survives its format.
	again, err := imagemap.Decode(m.AppendCIF(nil, imagemap.EncodeOptions{}), imagemap.DecodeOptions{})
	if err != nil || !again.Equal(m) {
		t.Errorf("decoded: %v, %v", again, err)
	}
}

// checkImage compares an image with its file as debug/elf reads it.
func checkImage(t *testing.T, img imagemap.Image, memory io.ReaderAt) {
	t.Helper()
	f, err := elf.Open(img.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if img.Loaded.Machine != f.Machine || img.Loaded.Class != f.Class {
		t.Errorf("%s: %v %v", img.Path, img.Loaded.Machine, img.Loaded.Class)
	}
	if s := f.Section(".note.gnu.build-id"); s != nil {
		if data, err := s.Data(); err != nil || !bytes.Equal(data[16:], img.BuildID) {
			t.Errorf("%s: build ID % x, want % x, %v", img.Path, img.BuildID, data, err)
		}
	} else if img.BuildID != nil {
		t.Errorf("%s: build ID % x of nothing", img.Path, img.BuildID)
	}
	text := f.Section(".text")
	want := make([]byte, 64)
	if _, err := text.ReadAt(want, 0); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 64)
	if _, err := memory.ReadAt(got, int64(img.Loaded.Bias+text.Addr)); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: with bias %#x .text is % x in memory, % x in the file, %v", img.Path, img.Loaded.Bias, got, want, err)
	}
	end := uint64(0)
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			end = max(end, img.Loaded.Bias+p.Vaddr+p.Memsz)
		}
	}
	if img.EndOfText != end || !img.Contains(img.Loaded.Bias+text.Addr+text.Size-1) {
		t.Errorf("%s: [%#x, %#x), want an end of %#x", img.Path, img.Base, img.EndOfText, end)
	}
	if _, err := memory.ReadAt(got, int64(img.Base)); err != nil || string(got[:4]) != elf.ELFMAG {
		t.Errorf("%s: no ELF header at the base, %v", img.Path, err)
	}
}

// A program whose file is deleted, or replaced, while it runs.
func TestCaptureLostFile(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"prog", "prog with\nnewline", "prog (deleted)"} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, binary, 0o755); err != nil {
			t.Fatal(err)
		}
		pid, memory := start(t, path)
		capture := func(memory io.ReaderAt, want imagemap.FileState) imagemap.Image {
			t.Helper()
			m, err := imagemap.Capture(pid, memory)
			if err != nil {
				t.Fatal(err)
			}
			img, ok := m.ByPath(path)
			if !ok || img.Loaded.File != want || !img.Loaded.HasBias {
				t.Fatalf("%q: %v, %v, want %v; images %v", path, ok, img.Loaded, want, m.Images())
			}
			return img
		}
		before := capture(memory, imagemap.FilePresent)
		same := func(after imagemap.Image) {
			t.Helper()
			if after.Base != before.Base || after.EndOfText != before.EndOfText || !bytes.Equal(after.BuildID, before.BuildID) || after.Loaded.Bias != before.Loaded.Bias {
				t.Errorf("%v was %v", after, before)
			}
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		same(capture(memory, imagemap.FileDeleted))
		if err := os.WriteFile(path, []byte("something else"), 0o755); err != nil {
			t.Fatal(err)
		}
		same(capture(memory, imagemap.FileReplaced))
	}
}

func TestCaptureNoProcess(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	m, err := imagemap.Capture(cmd.Process.Pid, nil)
	if m != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, %v", m, err)
	}
}
