package listing

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// tryStack lists a process: what is written, what is said, and the exit code.
func tryStack(t *testing.T, args ...string) (out, said string, code int) {
	t.Helper()
	c := exec.Command(clewPath, append([]string{"stack"}, args...)...)
	var o, e bytes.Buffer
	c.Stdout, c.Stderr = &o, &e
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return o.String(), e.String(), c.ProcessState.ExitCode()
}

// goesOn fails the test if a thread of a process stands still or is traced.
func goesOn(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		problem := ""
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		for _, task := range tasks {
			text, _ := os.ReadFile(task) // the thread may have ended
			if strings.Contains(string(text), "\nState:\tT") || strings.Contains(string(text), "\nState:\tt") ||
				bytes.Contains(text, []byte("TracerPid:")) && !bytes.Contains(text, []byte("TracerPid:\t0\n")) {
				problem = task + ":\n" + string(text)
			}
		}
		if problem == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left stopped or traced: %s", problem)
		}
	}
}

// TestCorruptGoroutine: of goroutines whose structures are damaged, one is named as
// unreadable and one has no stack; all others are listed as before.
func TestCorruptGoroutine(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	pid, _, _ := crowd(t)
	list := func(want int) map[uint64]string {
		out, said, code := tryStack(t, "--pid", strconv.Itoa(pid), "--goroutine", "all", "--format", "json")
		if code != want {
			t.Fatalf("exit code %d, want %d: %s", code, want, said)
		}
		var answer stackjson.Answer
		if err := json.Unmarshal([]byte(out), &answer); err != nil {
			t.Fatal(err)
		}
		stacks := make(map[uint64]string)
		for i := range answer.Stacks {
			text, _ := json.Marshal(answer.Stacks[i].Frames)
			stacks[answer.Stacks[i].Goroutine] = string(answer.Stacks[i].Stop) + string(text)
		}
		return stacks
	}
	before := list(0)
	damage(t, pid)
	after := list(3)
	gone, changed := 0, 0
	for id, was := range before {
		switch now, ok := after[id]; {
		case !ok:
			gone++
		case now != was:
			changed++
			if !strings.HasPrefix(now, "truncated") {
				t.Errorf("goroutine %d: %s", id, now)
			}
		}
	}
	if gone != 1 || changed != 1 || len(before) < 30 {
		t.Errorf("%d of %d goroutines are gone and %d are others", gone, len(before), changed)
	}
	if _, said, _ := tryStack(t, "--pid", strconv.Itoa(pid)); strings.Count(said, "\n") != 1 || !strings.Contains(said, "a goroutine could not be read: runtime.g at 0x10") {
		t.Errorf("%q", said)
	}
	goesOn(t, pid)
}

// damage overwrites a goroutine's place in the runtime's list, and the stack of another.
func damage(t *testing.T, pid int) {
	t.Helper()
	f, err := elf.Open(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	word := func(at uint64) uint64 {
		var b [8]byte
		if _, err := mem.ReadAt(b[:], int64(at)); err != nil {
			t.Fatal(err)
		}
		return binary.LittleEndian.Uint64(b[:])
	}
	write := func(at, value uint64) {
		if _, err := mem.WriteAt(binary.LittleEndian.AppendUint64(nil, value), int64(at)); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range symbols {
		if s.Name == "runtime.allgptr" {
			list := word(s.Value)
			const (
				bad, lost = 15, 17 // of those that main has started
				hi, sp    = 0x08, 0x38
			)
			write(list+8*bad, 0x10)
			write(word(list+8*lost)+hi, 0x7fff_0000_0000)
			write(word(list+8*lost)+sp, 0x7ffe_ffff_0000)
			return
		}
	}
	t.Fatal("no symbol runtime.allgptr")
}

// TestRestless: a process whose threads and goroutines come and go, and which starts others
// all the time, is listed each time, and goes on.
func TestRestless(t *testing.T) {
	pid := startReady(t, "restless", "fork").Process.Pid
	for range 8 {
		if out, said, code := tryStack(t, "--pid", strconv.Itoa(pid)); code != 0 && code != 3 || !strings.Contains(out, "goroutine 1") {
			t.Fatalf("exit code %d: %s\n%s", code, said, out)
		}
		goesOn(t, pid)
	}
}

// TestBecomesAnother: a process that executes a program again and again is listed, or one
// line says why not.
func TestBecomesAnother(t *testing.T) {
	pid := startReady(t, "restless", "exec").Process.Pid
	listed := 0
	const tries = 8
	for range tries {
		_, said, code := tryStack(t, "--pid", strconv.Itoa(pid))
		if code == 0 || code == 3 {
			listed++
		} else if strings.Count(said, "\n") > 2 || !strings.Contains(said, strconv.Itoa(pid)) {
			t.Errorf("exit code %d: %s", code, said)
		}
		goesOn(t, pid)
	}
	t.Logf("%d of %d were listed", listed, tries)
}

// TestEndsWhileListed: one line says that a process has ended.
func TestEndsWhileListed(t *testing.T) {
	for wait := range 4 {
		cmd := startReady(t, "leak")
		time.AfterFunc(time.Duration(wait)*100*time.Millisecond, func() { _ = cmd.Process.Kill() })
		_, said, code := tryStack(t, "--pid", strconv.Itoa(cmd.Process.Pid))
		if (code != 0 && code != 3) && strings.Count(said, "\n") != 1 {
			t.Errorf("killed after %d ms: exit code %d: %s", 100*wait, code, said)
		}
	}
}

// TestUnknownRuntime: where the runtime's structures are not as its code says, that is said with
// the field's name, and the process goes on.
func TestUnknownRuntime(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	dir := t.TempDir()
	whole := filepath.Join(dir, "leak")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", whole, "./testdata/leak")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if err := testkit.Run(build); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*strings.Replacer{
		"atomicstatus": strings.NewReplacer("atomicstatus", "atomicstatuz"),
		"lockedm":      strings.NewReplacer("startpc", "lockedm", "lockedm", "startpc"), // each has the place of the other
	} {
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(dir, name)
			if err := os.WriteFile(program, []byte(r.Replace(string(data))), 0o755); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(program)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { end(cmd) })
			time.Sleep(time.Second)
			_, said, _ := tryStack(t, "--pid", strconv.Itoa(cmd.Process.Pid))
			if first, _, _ := strings.Cut(said, "\n"); !strings.Contains(first, name) || !strings.Contains(first, strconv.Itoa(cmd.Process.Pid)) {
				t.Errorf("%s", said)
			}
			goesOn(t, cmd.Process.Pid)
		})
	}
}

// TestFullDisk: one line, and the process goes on.
func TestFullDisk(t *testing.T) {
	pid := startReady(t, "leak").Process.Pid
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for _, args := range [][]string{nil, {"--format", "json"}, {"--format", "pprof"}, {"--format", "swift"}, {"--watch", "1s"}, {"--count", "3", "--format", "pprof"}} {
		c := exec.Command(clewPath, append([]string{"stack", "--pid", strconv.Itoa(pid)}, args...)...)
		var said bytes.Buffer
		c.Stdout, c.Stderr = full, &said
		if err := c.Run(); c.ProcessState.ExitCode() != 1 || strings.Count(said.String(), "\n") != 1 || !strings.Contains(said.String(), "no space left") {
			t.Errorf("%v: %v: %s", args, err, said.String())
		}
		goesOn(t, pid)
	}
}
