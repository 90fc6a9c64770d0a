package symbols

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// embed puts a small debug file with the name of one function into the library, as
// distributions make it (GDB's manual, "Debugging information in a special section").
func (s *split) embed(t *testing.T, damage func([]byte) []byte) {
	t.Helper()
	s.tools["xz"] = testneed.Tool(t, "xz")
	keep, mini := s.path(t, "keep"), s.path(t, "mini")
	s.write(t, keep, "hidden\n")
	s.run(t, "objcopy", "-S", "--remove-section", ".comment", "--keep-symbols="+keep, s.debug, mini)
	s.run(t, "xz", "--force", mini)
	data, err := os.ReadFile(mini + ".xz")
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, mini+".xz", string(damage(data)))
	s.run(t, "objcopy", "--add-section", ".gnu_debugdata="+mini+".xz", s.library)
}

func TestMiniDebug(t *testing.T) {
	s := newSplit(t)
	_, want := s.hidden(t)
	if got, ok := s.open(t).FunctionBounds(want.Start); ok && got.Name == "hidden" {
		t.Fatalf("it has the name before: %+v", got)
	}
	s.embed(t, bytes.Clone)
	f := s.open(t)
	if got, ok := f.FunctionBounds(want.Start + 1); !ok || got != want {
		t.Errorf("%+v (%v), want %+v", got, ok, want)
	}
	if at := f.Find("visible"); len(at) != 1 {
		t.Errorf("visible, which it does not name, is at %#x", at)
	}
	if f.Complete() {
		t.Error("it has no weak functions: there may be code that it does not name")
	}
	// The separate debug file says more.
	folder, name := s.buildID(t)
	s.put(t, "debug", ".build-id", folder, name)
	s.used(t, s.open(t))
}

// A small file that cannot be read, or that another program's is, names nothing.
func TestMiniDebugDamaged(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"cut":     func(b []byte) []byte { return b[:len(b)/2] },
		"changed": func(b []byte) []byte { b[len(b)/2] ^= 0x40; return b },
		"no xz":   func([]byte) []byte { return []byte("\x7fELF") },
		"no ELF": func([]byte) []byte { // "hello", by xz
			return []byte("\xfd7zXZ\x00\x00\x01i\"\xde6\x02\x00!\x01\x16\x00\x00\x00t/\xe5\xa3\x01\x00\x04hello\x00\x00\x00\x00\x86\xa6\x106" +
				"\x00\x01\x19\x05\xbc\xe8\xec\xcb\x90B\x99\r\x01\x00\x00\x00\x00\x01YZ")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSplit(t)
			_, want := s.hidden(t)
			s.embed(t, damage)
			f := s.open(t)
			if got, ok := f.FunctionBounds(want.Start); ok && got.Name == "hidden" {
				t.Errorf("%+v", got)
			}
			if at := f.Find("visible"); len(at) != 1 {
				t.Errorf("visible is at %#x", at)
			}
		})
	}
	other := newSplit(t, "-Wl,-Ttext=0x123000")
	_, there := other.hidden(t)
	s := newSplit(t)
	s.debug = other.debug
	s.embed(t, bytes.Clone)
	if got, ok := s.open(t).FunctionBounds(there.Start); ok && got.Name == "hidden" {
		t.Errorf("of another program: %+v", got)
	}
}

// TestMiniTooLarge: a file that becomes more than it may is left out, whether its index says so or not, and is not unpacked whole.
func TestMiniTooLarge(t *testing.T) {
	cmd := exec.Command(testneed.Tool(t, "xz"), "-0", "-c")
	cmd.Stdin = bytes.NewReader(make([]byte, 100<<20))
	packed, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if full, ok := xzSize(bytes.NewReader(packed), int64(len(packed))); !ok || full != 100<<20 {
		t.Errorf("%d, %v", full, ok)
	}
	var memory, after runtime.MemStats
	runtime.ReadMemStats(&memory)
	_, err = unxz(packed)
	runtime.ReadMemStats(&after)
	if !errors.As(err, new(*overfullError)) || after.TotalAlloc-memory.TotalAlloc > 600<<20 {
		t.Errorf("%v, %d MiB", err, (after.TotalAlloc-memory.TotalAlloc)>>20)
	}
	s := newSplit(t)
	s.embed(t, func([]byte) []byte { return packed })
	if problems := fmt.Sprint(s.open(t).Problems()); strings.Count(problems, ".gnu_debugdata left out: more than 64 MiB") != 1 {
		t.Errorf("%s", problems)
	}
	for n := range 40 { // cut off, or changed at its end
		changed := bytes.Clone(packed)
		changed[len(changed)-1-n] ^= 0xff
		_, _ = xzSize(bytes.NewReader(changed), int64(len(changed)))
		_, _ = xzSize(bytes.NewReader(packed[:n]), int64(n))
	}
}
