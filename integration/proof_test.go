package integration

import (
	"debug/elf"
	"encoding/binary"
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
// (R16). And steps that were refused though they are right: out of code that keeps its
// return address in a register, as vfork does; out of a recursion that has overflowed the
// stack; at the end of a context. The program records its stack itself.
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
		{"popped", "", "runtime.goexit"},
		{"overflow", "", "runtime.goexit"},
		{"context", "", ""},
	} {
		t.Run(c.what+c.stop, func(t *testing.T) {
			record := filepath.Join(t.TempDir(), "record")
			args := []string{"stack", "--thread", "all", "--format", "json"}
			if c.stop != "" {
				args = append(args, "--break", "*"+thunkPlace(t, exe, c.stop))
			}
			stacks := clew(t, append(args, "--", exe, c.what, record)...).stacks(t)
			want := readProof(t, record)
			for i := range stacks {
				outer := slices.IndexFunc(stacks[i].Frames, func(f stackjson.Frame) bool { return uint64(f.PC) == want[len(want)-1] })
				if at := outer - len(want) + 1; at > 0 {
					compareProof(t, &stacks[i], at, want, c.last)
					// The instruction that overflows the stack comes before the record.
					if before := stacks[i].Frames[at-1].Function; c.what == "overflow" && before != "deep" || c.what != "overflow" && at != 1 {
						t.Errorf("frame %d, before those on record, is %s", at-1, before)
					}
					if f := stacks[i].Frames[0]; c.what == "tables" && (len(f.Rejected) == 0 || !strings.Contains(f.Rejected[0].Reason, "the function's own code")) {
						t.Errorf("the table's step is not shown: %+v", f.Rejected)
					}
					return
				}
			}
			t.Fatalf("%#x is in none of %d stacks", want[len(want)-1], len(stacks))
		})
	}
}

// compareProof compares a stack with the return addresses that the program has recorded,
// the first of which is frame at, and with its outermost function.
func compareProof(t *testing.T, s *stackjson.Stack, at int, want []uint64, last string) {
	t.Helper()
	for i, pc := range want {
		if at+i >= len(s.Frames) || uint64(s.Frames[at+i].PC) != pc {
			t.Fatalf("frame %d of %d is not %#x", at+i, len(s.Frames), pc)
		}
		if f := &s.Frames[at+i]; f.Trust == stackjson.TrustScan {
			t.Errorf("frame %d has the trust of a scan: %v", at+i, f.Notes)
		}
	}
	if f := s.Frames[len(s.Frames)-1]; s.Stop != stackjson.StopEnd || last != "" && f.Function != last || last == "" && len(s.Frames) != at+len(want) {
		t.Errorf("%s: %s at %s", s.Stop, s.Reason, f.Function)
	}
}

// readProof returns the recorded return addresses, innermost first.
func readProof(t *testing.T, record string) (out []uint64) {
	t.Helper()
	data, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	for ; len(data) >= 8; data = data[8:] {
		if ra := binary.LittleEndian.Uint64(data); ra != 0 {
			out = append(out, ra)
		}
	}
	slices.Reverse(out)
	if len(out) == 0 {
		t.Fatal("nothing is recorded")
	}
	return out
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
	if _, err := fmt.Sscanf(offset, "+%d", &off); err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Name == "__x86_return_thunk" {
			return fmt.Sprintf("%#x", s.Value+off)
		}
	}
	t.Fatal("no thunk")
	return ""
}
