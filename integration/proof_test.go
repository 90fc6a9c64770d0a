package integration

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// TestProof: steps that skipped callers of a complete stack, since single clues spoke for
// them: a frame pointer that was 0 since the thread's start, in code whose switch has a
// jump table; the words of a thunk; a wrong row of a table below an indirect call
// (R16). The program records its stack itself.
func TestProof(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	testneed.Tool(t, "gcc")
	exe := filepath.Join(workFolder, "proof")
	build := exec.Command("go", "build", "-o", exe, "./testdata/proof")
	build.Env = append(os.Environ(), "CC=gcc", "CGO_CFLAGS=-O2 -g0 -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-exceptions")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range []struct{ what, stop, last string }{
		{"switch", "", "start_thread"},
		{"thunk", "+12", "start_thread"}, // at its lea, and behind it
		{"thunk", "+17", "start_thread"},
		{"tables", "", "runtime.goexit"},
	} {
		t.Run(c.what+c.stop, func(t *testing.T) {
			record := filepath.Join(t.TempDir(), "record")
			args := []string{"stack", "--thread", "all", "--format", "json"}
			if c.stop != "" {
				args = append(args, "--break", "*"+thunkPlace(t, exe, c.stop))
			}
			stacks := clew(t, append(args, "--", exe, c.what, record)...).stacks(t)
			text, err := os.ReadFile(record)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Fields(string(text))
			at := slices.IndexFunc(stacks, func(s stackjson.Stack) bool {
				return slices.ContainsFunc(s.Frames, func(f stackjson.Frame) bool { return f.PC.String() == want[0] })
			})
			if at < 0 {
				t.Fatalf("the caller %s is in no stack", want[0])
			}
			s := stacks[at]
			for i, pc := range want {
				if i+1 >= len(s.Frames) || s.Frames[i+1].PC.String() != pc {
					t.Fatalf("frame %d is not %s: %v", i+1, pc, s.Frames)
				}
				if s.Frames[i+1].Trust == stackjson.TrustScan {
					t.Errorf("frame %d has the trust of a scan: %v", i+1, s.Frames[i+1].Notes)
				}
			}
			if last := s.Frames[len(s.Frames)-1]; last.Function != c.last || s.Stop != stackjson.StopEnd {
				t.Errorf("ends at %s, %s", last.Function, s.Reason)
			}
			if f := s.Frames[0]; c.what == "tables" && (len(f.Rejected) == 0 || !strings.Contains(f.Rejected[0].Reason, "the function's own code")) {
				t.Errorf("the table's step is not shown: %+v", f.Rejected)
			}
		})
	}
}

// thunkPlace is the address of a place in the thunk of a program.
func thunkPlace(t *testing.T, exe, offset string) string {
	t.Helper()
	f, err := elf.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	var off uint64
	fmt.Sscanf(offset, "+%d", &off)
	for _, s := range symbols {
		if s.Name == "__x86_return_thunk" {
			return fmt.Sprintf("%#x", s.Value+off)
		}
	}
	t.Fatal("no thunk")
	return ""
}
