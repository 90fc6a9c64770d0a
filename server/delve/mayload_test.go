package delve

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/clewdbg/clew/internal/elffile"
	"github.com/clewdbg/clew/internal/testneed"
)

// library builds one of C or assembly.
func buildLibrary(t *testing.T, name, source string, flags ...string) string {
	t.Helper()
	testneed.Platform(t, "linux/amd64")
	folder := t.TempDir()
	in, out := filepath.Join(folder, name), filepath.Join(folder, "library.so")
	if err := os.WriteFile(in, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(testneed.CC(t), append(flags, "-shared", "-o", out, in)...)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

const function = "int f(void) { return 1; }\n"

// TestMayLoad: Delve gets a library as compilers write it, and none with a debug file
// that is no file, by .gnu_debuglink or by build ID.
func TestMayLoad(t *testing.T) {
	objcopy := testneed.Tool(t, "objcopy")
	folder := t.TempDir()
	plain := buildLibrary(t, "f.c", function, "-fPIC", "-Wl,--build-id=0x0123456789")
	described := buildLibrary(t, "f.c", function, "-fPIC", "-g", "-Wl,--build-id=0x0123456789")
	for _, path := range []string{plain, described, filepath.Join(folder, "missing"), "/proc/version"} {
		if err := mayLoad(path, []string{folder}); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	byID := filepath.Join(folder, ".build-id", "01", "23456789.debug")
	if err := errors.Join(os.MkdirAll(filepath.Dir(byID), 0o700), os.Symlink("/dev/zero", byID)); err != nil {
		t.Fatal(err)
	}
	if err := mayLoad(described, []string{folder}); err != nil { // it has DWARF: no debug file is looked for
		t.Error(err)
	}
	var refused *RefusedError
	if err := mayLoad(plain, []string{folder}); !errors.As(err, &refused) || refused.Path != byID || !errors.Is(err, elffile.ErrNotRegular) {
		t.Errorf("%v", err)
	}
	cached := filepath.Join(folder, "0123456789", "debuginfo")
	t.Setenv("DEBUGINFOD_URLS", "http://localhost:1")
	t.Setenv("DEBUGINFOD_CACHE_PATH", folder)
	if err := errors.Join(os.MkdirAll(filepath.Dir(cached), 0o700), os.Symlink("/dev/zero", cached)); err != nil {
		t.Fatal(err)
	}
	if err := mayLoad(plain, nil); !errors.As(err, &refused) || refused.Path != cached {
		t.Errorf("%v", err)
	}
	link := filepath.Join(filepath.Dir(plain), "link.debug")
	if err := os.WriteFile(link, []byte(function), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(objcopy, "--add-gnu-debuglink="+link, plain).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := errors.Join(os.Remove(link), syscall.Mkfifo(link, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := mayLoad(plain, nil); !errors.As(err, &refused) || refused.Path != link {
		t.Errorf("%v", err)
	}
}

// TestLongFrameEntry: Delve would keep gigabytes for the states that one entry remembers.
func TestLongFrameEntry(t *testing.T) {
	const remember = ".cfi_escape 0x0a\n" // DW_CFA_remember_state
	source := func(states int) string {
		return ".globl f\nf:\n.cfi_startproc\npush %rbx\n" + strings.Repeat(remember, states) + "pop %rbx\nret\n.cfi_endproc\n"
	}
	if err := mayLoad(buildLibrary(t, "f.s", source(1000), "-nostdlib"), nil); err != nil {
		t.Error(err)
	}
	if err := mayLoad(buildLibrary(t, "f.s", source(100_000), "-nostdlib"), nil); err == nil || !strings.Contains(err.Error(), ".eh_frame has an entry of 97 KiB") {
		t.Errorf("%v", err)
	}
}

// TestFramesThatPanic: an entry of .eh_frame that claims more than it has would end Delve.
func TestFramesThatPanic(t *testing.T) {
	path := buildLibrary(t, "f.c", function, "-fPIC", "-fasynchronous-unwind-tables")
	f, err := elffile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := f.Section(".eh_frame")
	data, err := s.Data()
	if err != nil {
		t.Fatal(err)
	}
	if err := checkEntries(f.File, s.Name, data, s.Addr); err != nil {
		t.Errorf("as the compiler wrote it: %v", err)
	}
	refused := 0
	for at := range data {
		damaged := bytes.Clone(data)
		damaged[at] = 0x7f
		if err := checkEntries(f.File, s.Name, damaged, s.Addr); err != nil {
			refused++
		}
	}
	if refused == 0 {
		t.Error("no damage is refused")
	}
}
