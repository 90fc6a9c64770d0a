package integration

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/unwind"
)

// TestProof: steps that skipped callers of a complete stack, since single clues spoke for
// them: a frame pointer that was 0 since the thread's start, in code whose switch has a
// jump table; the words of a thunk; a wrong row of a table below an indirect call
// (R16). And steps that were refused though they are right: out of code that keeps its
// return address in a register, as vfork does; out of a recursion that has overflowed the
// stack; at the end of a context; while the dynamic linker binds what was called, and above what it
// has left on the stack. The program records its stack itself.
func TestProof(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	testneed.Tool(t, "gcc")
	for _, c := range []struct {
		what   string
		stop   place
		last   string
		refuse []int // the frames, from the innermost, out of which the code refuses a table's step
	}{
		{"switch", place{}, "start_thread", nil},
		{"thunk", place{"__x86_return_thunk", []byte{0x48, 0x8d, 0x64, 0x24, 8}, 0}, "start_thread", nil}, // its lea
		{"thunk", place{"__x86_return_thunk", []byte{0x48, 0x8d, 0x64, 0x24, 8}, 5}, "start_thread", nil},
		{"tables", place{}, "runtime.goexit", []int{0}},
		{"mutual", place{}, "runtime.goexit", []int{2, 4}},
		{"popped", place{}, "runtime.goexit", nil},
		{"vfork", place{"vfork", []byte{0x0f, 0x05}, 2}, "runtime.goexit", nil}, // the child ends there
		{"overflow", place{}, "runtime.goexit", nil},
		{"overflow-thread", place{}, "runtime.goexit", nil},
		{"context", place{}, "", nil},
		{"lazy", place{}, "runtime.goexit", nil},
		{"later", place{}, "runtime.goexit", nil},
	} {
		t.Run(c.what+c.stop.name(), func(t *testing.T) {
			exe := proofProgram(t, c.what == "vfork")
			t.Setenv("PROOF_LIBRARY", lazyLibrary(t))
			record := filepath.Join(t.TempDir(), "record")
			args := []string{"stack", "--thread", "all", "--format", "json"}
			if c.stop.symbol != "" {
				args = append(args, "--break", "*"+c.stop.find(t, exe))
			}
			o := clew(t, append(args, "--", exe, c.what, record)...)
			s, at := proofStack(t, o.stacks(t), record, c.last)
			// The instruction that overflows the stack comes before the record.
			overflow := strings.HasPrefix(c.what, "overflow")
			if before := s.Frames[at-1].Function; overflow && before != "deep" || !overflow && at != 1 && c.what != "lazy" {
				t.Errorf("frame %d, before those on record, is %s", at-1, before)
			}
			for _, f := range s.Frames[1:at] {
				if !overflow && !strings.Contains(f.Image, "ld-linux") {
					t.Errorf("%s in %s", f.Function, f.Image)
				}
			}
			for k, f := range s.Frames {
				table := slices.ContainsFunc(f.Rejected, func(r stackjson.Rejected) bool {
					return r.Strategy == unwind.StrategyDWARF && strings.Contains(r.Reason, "the function's own code")
				})
				if table != slices.Contains(c.refuse, k) {
					t.Errorf("frame %d, the table's step: %+v", k, f.Rejected)
				}
			}
		})
	}
}

// TestNothingFalse: where clew does not know all, it shows no false frame and claims no end: in code
// that was generated, at its first instruction, which is the first of its mapping; on a
// stack that goes on in other memory (gcc -fsplit-stack).
func TestNothingFalse(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	testneed.Tool(t, "gcc")
	for what, other := range map[string]string{"generated": "", "split": "__morestack"} {
		t.Run(what, func(t *testing.T) {
			record := filepath.Join(t.TempDir(), "record")
			s := clew(t, "stack", "--format", "json", "--", proofProgram(t, false), what, record).stacks(t)[0]
			want := readProof(t, record)
			first := slices.IndexFunc(s.Frames, func(f stackjson.Frame) bool { return uint64(f.PC) == want[0] })
			if first < 1 {
				t.Fatalf("%#x, the innermost caller, is in none of %d frames; %s", want[0], len(s.Frames), s.Reason)
			}
			// What runs on a new stack returns to __morestack, and that to the call of a
			// recursion: most of what is recorded.
			recursion, rest := slices.Sorted(slices.Values(want))[len(want)/2], want
			for i, f := range s.Frames[first:] {
				switch {
				case len(rest) == 0: // Go's
				case uint64(f.PC) == rest[0] && f.Function == other:
					rest = append([]uint64{recursion}, rest[1:]...)
				case uint64(f.PC) == rest[0]:
					rest = rest[1:]
				case f.Trust != stackjson.TrustScan:
					t.Errorf("frame %d is %v %s, not %#x", first+i, f.PC, f.Function, rest[0])
				}
			}
			if s.Stop == stackjson.StopEnd && len(rest) > 0 {
				t.Errorf("%d frames are missing: %s", len(rest), s.Reason)
			}
		})
	}
}

// TestLongjmp: where longjmp has left its own frame for its target's, nothing wrong is claimed.
func TestLongjmp(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	testneed.Tool(t, "gcc")
	exe, record := proofProgram(t, true), filepath.Join(t.TempDir(), "record")
	jump := place{"__longjmp", []byte{0xff, 0xe2}, 0} // jmp *%rdx
	s := clew(t, "stack", "--format", "json", "--break", "*"+jump.find(t, exe), "--", exe, "longjmp", record).stacks(t)[0]
	want := readProof(t, record)
	for i, f := range s.Frames[1:] {
		if f.Trust != stackjson.TrustScan && (i >= len(want) || uint64(f.PC) != want[i]) {
			t.Errorf("frame %d is %v %s", i+1, f.PC, f.Function)
		}
	}
	if s.Frames[0].Function != "__longjmp" || s.Stop == stackjson.StopEnd && len(s.Frames) <= len(want) {
		t.Errorf("%s: %s, %d frames", s.Stop, s.Reason, len(s.Frames))
	}
}

// TestOverflowInCore: a C stack overflow in the core file that the kernel writes: at the
// fault, or once Go's runtime has caught it and given up. And the same without code, as GDB's gcore
// leaves it out.
func TestOverflowInCore(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Tool(t, "gcc")
	exe := proofProgram(t, false)
	for _, args := range [][]string{{"overflow"}, {"overflow-thread"}, {"overflow", "fatal"}, {"overflow-thread", "fatal"}} {
		t.Run(strings.Join(args, "-"), func(t *testing.T) {
			record := filepath.Join(t.TempDir(), "record")
			core := testkit.Core(t, append(os.Environ(), "GOTRACEBACK=crash"), slices.Concat([]string{exe, args[0], record}, args[1:])...)
			for _, core := range []string{core, withoutCode(t, core)} {
				proofStack(t, clew(t, "stack", "--core", core, "--format", "json", exe).stacks(t), record, "runtime.goexit")
			}
		})
	}
}

// TestOverflowInGcore: the same in a core file that GDB's gcore writes at the fault, on the main
// thread and on another. Few arenas and small stacks keep it short: GDB writes reserved memory too.
func TestOverflowInGcore(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Tool(t, "gcc")
	testneed.Ptrace(t)
	gdb := testneed.Tool(t, "gdb")
	exe := proofProgram(t, false)
	for _, where := range []string{"overflow", "overflow-thread"} {
		t.Run(where, func(t *testing.T) {
			dir := t.TempDir()
			record, core := filepath.Join(dir, "record"), filepath.Join(dir, "core")
			ctx, cancel := context.WithTimeout(t.Context(), testneed.Patience(2*time.Minute))
			defer cancel()
			cmd := exec.CommandContext(ctx, "sh", "-c", `ulimit -s 1024 && exec "$@"`, "sh", gdb, "-batch", "-nx", "-iex", "set auto-load off", "-iex", "set auto-solib-add off",
				"-ex", "exec-file "+exe, "-ex", "set args "+where+" "+record, "-ex", "handle SIGURG nostop noprint pass", "-ex", "run", "-ex", "gcore "+core, "-ex", "kill")
			cmd.Env = append(os.Environ(), "MALLOC_ARENA_MAX=1")
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "SIGSEGV") {
				t.Fatalf("%v: %s", err, clip(string(out)))
			}
			proofStack(t, clew(t, "stack", "--core", core, "--format", "json", exe).stacks(t), record, "runtime.goexit")
		})
	}
}

// proofStack finds the stack that the program has recorded among others, and compares it;
// at is its first frame that is on record.
func proofStack(t *testing.T, stacks []stackjson.Stack, record, last string) (s *stackjson.Stack, at int) {
	t.Helper()
	want := readProof(t, record)
	for i := range stacks {
		outer := slices.IndexFunc(stacks[i].Frames, func(f stackjson.Frame) bool { return uint64(f.PC) == want[len(want)-1] })
		// Threads of the runtime's begin at the same address.
		if at := outer - len(want) + 1; at > 0 && uint64(stacks[i].Frames[at].PC) == want[0] {
			compareProof(t, &stacks[i], at, want, last)
			return &stacks[i], at
		}
	}
	t.Fatalf("%#x to %#x is in none of %d stacks", want[0], want[len(want)-1], len(stacks))
	return nil, 0
}

// compareProof compares a stack with the return addresses that the program has recorded,
// the first of which is frame at, and with its outermost function.
func compareProof(t *testing.T, s *stackjson.Stack, at int, want []uint64, last string) {
	t.Helper()
	for i, pc := range want {
		if at+i >= len(s.Frames) || uint64(s.Frames[at+i].PC) != pc {
			t.Fatalf("frame %d of %d is not %#x; recorded: %#x\n%s", at+i, len(s.Frames), pc, want, show(s))
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

// proofProgram builds testdata/proof.
func proofProgram(t *testing.T, static bool) string {
	t.Helper()
	exe, args := testkit.Path("proof"), []string{"build"}
	if static {
		exe, args = exe+"-static", append(args, "-ldflags=-extldflags=-static")
	}
	if _, err := testkit.Once(exe, func() (string, error) {
		return exe, testkit.GoIn("", []string{"CC=gcc", "CGO_CFLAGS=-O2 -g0 -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-exceptions"},
			append(args, "-o", exe, "./testdata/proof")...)
	}); err != nil {
		t.Fatal(err)
	}
	return exe
}

// lazyLibrary builds testdata/lazy.
func lazyLibrary(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "liblazy.so")
	if text, err := exec.Command("gcc", "-shared", "-Wl,-z,lazy", "-o", out, "testdata/lazy/lazy.S").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

// place is a place in a function of a program: so many bytes behind where code begins.
type place struct {
	symbol string
	code   []byte
	behind int
}

func (p place) name() string {
	if p.behind > 0 {
		return "-behind"
	}
	return ""
}

// find returns its address.
func (p place) find(t *testing.T, exe string) string {
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
	for _, s := range symbols {
		if s.Name != p.symbol {
			continue
		}
		text := f.Sections[s.Section]
		code := make([]byte, 256)
		n, _ := text.ReadAt(code, int64(s.Value-text.Addr))
		if at := bytes.Index(code[:n], p.code); at >= 0 {
			return fmt.Sprintf("%#x", s.Value+uint64(at+p.behind))
		}
	}
	t.Fatalf("no % x in %s", p.code, p.symbol)
	return ""
}
