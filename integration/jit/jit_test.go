package jit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

func TestMain(m *testing.M) { testkit.Main(m, testkit.Clew) }

func clewPath() string { return testkit.Path("clew") }

// run runs a command to its end; a stack that is truncated is no failure.
func run(t testing.TB, name string, args ...string) (stdout, stderr string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	timer := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !(errors.As(err, &exit) && name == clewPath() && exit.ExitCode() == 3) {
		t.Fatalf("%s %s: %v\n%s\n%s", name, strings.Join(args, " "), err, out.String(), messages.String())
	}
	return out.String(), messages.String()
}

// build builds a program of testdata.
func build(t testing.TB, name string, flags ...string) string {
	t.Helper()
	testneed.CC(t)
	program := filepath.Join(t.TempDir(), name)
	if err := testkit.GoIn(filepath.Join("testdata", name), nil, append(append([]string{"build", "-o", program}, flags...), ".")...); err != nil {
		t.Fatal(err)
	}
	return program
}

// stackOf runs a program to its breakpoint, and returns the stack there and what the program has
// written: numbers, one a line.
func stackOf(t testing.TB, program ...string) (stackjson.Stack, []uint64) {
	t.Helper()
	stdout, stderr := run(t, clewPath(), append([]string{"stack", "--format", "json", "--"}, program...)...)
	var answer stackjson.Answer
	if err := json.Unmarshal([]byte(stdout), &answer); err != nil || len(answer.Stacks) != 1 {
		t.Fatalf("%v: %s\n%s", err, stdout, stderr)
	}
	var numbers []uint64
	for _, line := range strings.Fields(stderr) {
		if n, err := strconv.ParseUint(line, 0, 64); err == nil {
			numbers = append(numbers, n)
		}
	}
	return answer.Stacks[0], numbers
}

// lineOf is the number of the line with a text in a file.
func lineOf(t testing.TB, file, text string) int {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(strings.Split(string(source), "\n"), func(s string) bool { return strings.Contains(s, text) })
	if i < 0 {
		t.Fatalf("%s has no line with %q", file, text)
	}
	return i + 1
}

// TestRegisteredByLLVM: code that LLVM has compiled while the program runs, without
// frame pointers, and registered with GDB's interface. Go calls it through C, and it calls
// back.
func TestRegisteredByLLVM(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	clang := testneed.Tool(t, "clang-14")
	testneed.Tool(t, "lli-14")
	code := filepath.Join(t.TempDir(), "code.ll")
	const source = "testdata/code/code.c"
	for _, dwarf := range []string{"-gdwarf-4", "-gdwarf-5"} {
		t.Run(dwarf, func(t *testing.T) {
			run(t, clang, "-O2", dwarf, "-fomit-frame-pointer", "-emit-llvm", "-S", "-o", code, source)
			program := build(t, "mcjit")
			stack, record := stackOf(t, program, code)
			if len(record) != 3 || stack.Stop != stackjson.StopEnd {
				t.Fatalf("%x; %s: %s", record, stack.Stop, stack.Reason)
			}
			type row struct {
				pc       uint64
				function string
				line     int
				inlined  bool
			}
			want := []row{
				{record[2], "twice", lineOf(t, source, "back(r) * 2"), true},
				{record[2], "inner", lineOf(t, source, "twice(back, r)"), false},
				{record[1], "outer", lineOf(t, source, "inner(back, r,"), false},
			}
			first := slices.IndexFunc(stack.Frames, func(f stackjson.Frame) bool { return f.Function == "back" }) + 1
			if first == 0 || len(stack.Frames) < first+4 {
				t.Fatalf("%+v", stack.Frames)
			}
			for i, w := range want {
				f := stack.Frames[first+i]
				if got := (row{uint64(f.PC), f.Function, f.Line, f.Inlined}); got != w || f.Trust != stackjson.TrustCFI || filepath.Base(f.File) != "code.c" {
					t.Errorf("%+v, want %+v", f, w)
				}
			}
			if f := stack.Frames[first+3]; uint64(f.PC) != record[0] || !strings.HasSuffix(f.Function, "_Cfunc_run") {
				t.Errorf("%+v, want the return address %#x", f, record[0])
			}
			if len(stack.Notes) > 0 {
				t.Errorf("notes %q", stack.Notes)
			}
			// A snapshot holds what was registered.
			snapshot := filepath.Join(t.TempDir(), "snapshot.json")
			run(t, clewPath(), "stack", "--format", "snapshot", "-o", snapshot, "--", program, code)
			run(t, clewPath(), "unwind", snapshot)
		})
	}
}

// hops returns the frames of generated code below the one named back, and demands that they
// are the recorded ones and that nothing is missing up to Go.
func hops(t testing.TB, stack *stackjson.Stack, record []uint64) []stackjson.Frame {
	t.Helper()
	first := slices.IndexFunc(stack.Frames, func(f stackjson.Frame) bool { return f.Function == "back" }) + 1
	n := len(record)
	if first == 0 || n != 4 || len(stack.Frames) < first+n {
		t.Fatalf("%x in %+v", record, stack.Frames)
	}
	frames := stack.Frames[first : first+n]
	for i, f := range frames {
		if uint64(f.PC) != record[n-1-i] {
			t.Errorf("%+v, want %#x", f, record[n-1-i])
		}
	}
	return frames[:n-1]
}

// TestDump: code without frame pointers that a jitdump describes, where the dump describes
// what was there before, too.
func TestDump(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	object := filepath.Join(t.TempDir(), "hop.o")
	run(t, testneed.Tool(t, "gcc"), "-c", "-O2", "-fPIC", "-fomit-frame-pointer", "-fcf-protection=none", "-fno-stack-protector", "-o", object, "testdata/code/hop.c")
	stack, record := stackOf(t, build(t, "dumps"), "dump", object, t.TempDir())
	for i, f := range hops(t, &stack, record) {
		hop := 2 - i
		if f.Function != fmt.Sprintf("hop%d", hop) || f.File != "gen.src" || f.Line != 10*hop+1 || f.Trust != stackjson.TrustCFI {
			t.Errorf("frame %d: %+v", i, f)
		}
	}
	if stack.Stop != stackjson.StopEnd || len(stack.Notes) > 0 {
		t.Errorf("%s: %s; %q", stack.Stop, stack.Reason, stack.Notes)
	}
}

// TestPerfMap: code with frame pointers that a perf map names, in which lines overlap: the
// last one counts.
func TestPerfMap(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	object := filepath.Join(t.TempDir(), "hop.o")
	run(t, testneed.Tool(t, "gcc"), "-c", "-O2", "-fPIC", "-fno-omit-frame-pointer", "-fcf-protection=none", "-fno-stack-protector", "-o", object, "testdata/code/hop.c")
	stack, record := stackOf(t, build(t, "dumps"), "perf", object)
	for i, f := range hops(t, &stack, record) {
		if f.Function != fmt.Sprintf("hop %d", 2-i) {
			t.Errorf("frame %d: %+v", i, f)
		}
	}
}

// TestLargePerfMap: a perf map of 500 MB, of short lines, of one line without an end, of names with control characters and of
// lines that are none: the code that it names first is named, the stack says what is left out, and it costs no more than
// 10 s and 2 GiB.
func TestLargePerfMap(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	object := filepath.Join(t.TempDir(), "hop.o")
	run(t, testneed.Tool(t, "gcc"), "-c", "-O2", "-fPIC", "-fno-omit-frame-pointer", "-fcf-protection=none", "-fno-stack-protector", "-o", object, "testdata/code/hop.c")
	program := build(t, "dumps")
	t.Setenv("DUMPS_MIB", "500")
	for _, c := range []struct{ name, more, note string }{
		{"lines", "7f0000001000 10 f\n", "more than 1048576 symbols"},
		{"one line", "7f0000001000 10 f", "more than 256 MiB"},
		{"control characters", "7f0000001000 10 \x1b]0;title\a\u202eevil\r\x1bc\n", "more than 1048576 symbols"},
		{"no lines of a map", "\xff\xfe no address\n", "more than 256 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("DUMPS_MORE", c.more)
			before, _ := filepath.Glob("/tmp/perf-*.map")
			defer func() {
				after, _ := filepath.Glob("/tmp/perf-*.map")
				for _, path := range after {
					if info, err := os.Stat(path); err == nil && info.Size() > 400<<20 && !slices.Contains(before, path) {
						_ = os.Remove(path)
					}
				}
			}()
			begin := time.Now()
			stack, record := stackOf(t, program, "perf", object)
			took := time.Since(begin)
			var use syscall.Rusage
			if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &use); err != nil {
				t.Fatal(err)
			}
			t.Logf("%v with the program's own, %d MiB", took.Round(10*time.Millisecond), use.Maxrss>>10)
			if took > testneed.Patience(10*time.Second) || use.Maxrss > 2<<20 {
				t.Errorf("%v, %d MiB", took, use.Maxrss>>10)
			}
			// Further out the frames are guessed: a map without an end does not say which code is whose.
			at := slices.IndexFunc(stack.Frames, func(f stackjson.Frame) bool { return f.Function == "hop 2" })
			if at < 0 || uint64(stack.Frames[at].PC) != record[len(record)-1] {
				t.Errorf("no frame of hop 2 with %#x: %+v", record, stack.Frames)
			}
			for i, f := range stack.Frames[at+1:] {
				if f.Trust != stackjson.TrustScan && !slices.Contains(record, uint64(f.PC)) && strings.HasPrefix(f.Function, "hop") {
					t.Errorf("frame %d: %+v", i, f)
				}
			}
			if notes := strings.Join(stack.Notes, "\n"); !strings.Contains(notes, c.note) {
				t.Errorf("%q, want %q", notes, c.note)
			}
		})
	}
}

// TestLies: whatever the list of registered files is, the stack comes, and it says once
// what is wrong.
func TestLies(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	program := build(t, "lies")
	for how, want := range map[string]string{
		"none": "", "cycle": "the list comes back", "nowhere": "entry at 0x123456789000", "long": "more than 65536 entries",
		"huge": "(and 1 more of its descriptions)", "size": "", "version": "version 77",
	} {
		t.Run(how, func(t *testing.T) {
			start := time.Now()
			stack, _ := stackOf(t, program, how)
			if stack.Stop != stackjson.StopEnd || len(stack.Frames) < 3 {
				t.Errorf("%s: %s: %+v", stack.Stop, stack.Reason, stack.Frames)
			}
			notes := strings.Join(stack.Notes, "\n")
			if want == "" && notes != "" || !strings.Contains(notes, want) || len(stack.Notes) > 1 || len(notes) > 1000 {
				t.Errorf("%.2000q, want %q", notes, want)
			}
			t.Logf("%v", time.Since(start))
		})
	}
}

// TestMemoryImage: a library that is in memory only has its lines where the system lets its
// file be read, else the stack says that names are missing.
func TestMemoryImage(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	const source = "testdata/code/hop.c"
	library := filepath.Join(t.TempDir(), "hop.so")
	run(t, testneed.Tool(t, "gcc"), "-shared", "-g", "-O2", "-fPIC", "-fomit-frame-pointer", "-fcf-protection=none", "-fno-stack-protector", "-o", library, source)
	stack, record := stackOf(t, build(t, "memfd"), library)
	i := slices.IndexFunc(stack.Frames, func(f stackjson.Frame) bool { return f.Function == "back" }) + 1
	if i == 0 || len(record) != 2 || stack.Stop != stackjson.StopEnd {
		t.Fatalf("%x in %+v", record, stack)
	}
	f, notes := stack.Frames[i], strings.Join(stack.Notes, "\n")
	if uint64(f.PC) != record[1] || f.Function != "hop" || f.Trust != stackjson.TrustCFI {
		t.Errorf("%+v, want hop at %#x", f, record[1])
	}
	if os.Getuid() == 0 && f.Line != lineOf(t, source, "next + 1") || f.Line == 0 && !strings.Contains(notes, "names are missing") {
		t.Errorf("%+v; notes %q", f, notes)
	}
}
