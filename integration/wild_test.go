package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// TestWildCall: C code has called through a null pointer, or through one to where
// no code is. The stack shows where the program counter was, and goes on with the
// function that called, which is all that was guessed.
func TestWildCall(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	testneed.CC(t)
	exe := buildWild(t, "wild")
	for _, pc := range []string{"0x0", "0x1234567890"} {
		t.Run(pc, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "record")
			s := clew(t, "stack", "--format", "json", "--", exe, pc, file).want(t, done).stacks(t)[0]
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var calls, ra uint64
			if _, err := fmt.Sscanf(string(text), "%v %v", &calls, &ra); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			at := slices.IndexFunc(s.Frames, func(f stackjson.Frame) bool { return f.PC.String() == pc && f.Kind == stackjson.KindPC })
			if at < 1 || len(s.Frames) < at+6 {
				t.Fatalf("%d frames, that of the call at %d: %s", len(s.Frames), at, s.Reason)
			}
			if f := s.Frames[at+1]; uint64(f.PC) <= calls || uint64(f.PC) > calls+256 || f.Trust != stackjson.TrustScan || len(f.Notes) == 0 {
				t.Errorf("the function that called: %+v", f)
			}
			if f := s.Frames[at+2]; uint64(f.PC) != ra || f.Trust == stackjson.TrustScan {
				t.Errorf("its caller: %+v, want %#x", f, ra)
			}
			if f := s.Frames[len(s.Frames)-1]; f.Function != "runtime.goexit" {
				t.Errorf("ends with %s", f.Function)
			}
		})
	}
}

// TestFatalStripped: a program without DWARF, whose end Delve does not see coming,
// is stopped where Go's runtime is about to end it.
func TestFatalStripped(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	testneed.CC(t)
	exe := buildWild(t, "wild-stripped", "-ldflags=-s -w")
	s := clew(t, "stack", "--format", "json", "--", exe, "0x0", filepath.Join(t.TempDir(), "record")).want(t, done).stacks(t)[0]
	first, last := s.Frames[0], s.Frames[len(s.Frames)-1]
	if first.Function != "runtime.fatalsignal" || last.Function != "runtime.goexit" {
		t.Errorf("from %s to %s", first.Function, last.Function)
	}
	if !slices.ContainsFunc(s.Frames, func(f stackjson.Frame) bool { return f.PC == 0 && f.Kind == stackjson.KindPC }) {
		t.Error("where the program counter was is missing")
	}
	for _, f := range s.Frames { // Delve's lines are wrong without DWARF
		if strings.HasPrefix(f.Function, "main.") && !slices.Contains([]string{"main.go", "_cgo_gotypes.go"}, filepath.Base(f.File)) || f.Function == "runtime.goexit" && f.Line == 0 {
			t.Errorf("%s at %s:%d", f.Function, f.File, f.Line)
		}
	}
}

// buildWild builds the program of testdata/wild.
func buildWild(t *testing.T, name string, flags ...string) (exe string) {
	t.Helper()
	exe = testkit.Path(name)
	args := append(append([]string{"build", "-o", exe}, flags...), "./testdata/wild")
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return exe
}
