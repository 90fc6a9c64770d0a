package integration

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testneed"
)

// TestUsage: wrong usage is exit code 2, before anything is started.
func TestUsage(t *testing.T) {
	for _, c := range []struct {
		args  string
		words string
	}{
		{"stack", "--pid"},
		{"stack --pid 1 -- /bin/true", "not both"},
		{"stack --pid x", "--pid"},
		{"stack --pid 1 --break main.main", "--break"},
		{"stack --no-such-flag", "--no-such-flag"},
		{"stack --format nonsense -- /bin/true", "nonsense"},
		{"stack --format cbf -- /bin/true", "-o"},
		{"stack --strategies nonsense -- /bin/true", "nonsense"},
		{"stack --strategies fpwalk,fpwalk -- /bin/true", "twice"},
		{"stack --depth -1 -- /bin/true", "-1"},
		{"stack --goroutine some -- /bin/true", "some"},
		{"stack --thread current -- /bin/true", "current"},
		{"stack --thread 1 --goroutine all -- /bin/true", "not both"},
		{"unwind", "FILE"},
		{"unwind --no-such-flag x", "--no-such-flag"},
		{"decode", "FILE"},
		{"decode --format cbf x", "cbf"},
		{"decode --from nonsense x", "nonsense"},
		{"encode x", "--to"},
		{"encode --to nonsense x", "nonsense"},
		{"encode --to cbf", "FILE"},
		{"demo extra", "clew demo"},
		{"plugins extra", "clew plugins"},
	} {
		t.Run(c.args, func(t *testing.T) {
			clew(t, strings.Fields(c.args)...).oneLine(t, usage, c.words)
		})
	}
}

// TestNoProgram: programs that cannot be run or attached to.
func TestNoProgram(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	write(t, text, []byte("just text\n"))
	script := filepath.Join(dir, "script")
	write(t, script, []byte("#!/bin/sh\n"))
	corrupt := filepath.Join(dir, "corrupt")
	write(t, corrupt, append([]byte("\x7fELF\x02\x01\x01"), bytes.Repeat([]byte{0xff}, 100)...))
	for _, name := range []string{script, corrupt} {
		if err := os.Chmod(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, path string
		words      []string
	}{
		{"missing", filepath.Join(dir, "missing"), []string{"missing", "no such file"}},
		{"folder", dir, []string{dir, "directory"}},
		{"not executable", text, []string{text, "permission denied"}},
		{"script", script, []string{script, "not an executable"}},
		{"corrupt", corrupt, []string{corrupt}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := filepath.Join(dir, "out.json")
			clew(t, "stack", "--format", "json", "-o", out, "--", c.path).oneLine(t, failed, c.words...)
			absent(t, out)
		})
	}
}

// absent demands that nothing was left in place of a file, finished or not.
func absent(t testing.TB, name string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(filepath.Dir(name), "*"+filepath.Base(name)+"*"))
	if err != nil {
		t.Fatal(err)
	}
	hidden, err := filepath.Glob(filepath.Join(filepath.Dir(name), ".*"))
	if err != nil {
		t.Fatal(err)
	}
	if left = append(left, hidden...); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestAttachRefused: processes that are gone, never were, or are not Go's.
func TestAttachRefused(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	gone := exec.Command("/bin/true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	notGo := exec.Command("/bin/sleep", "1000")
	zombie := exec.Command("/bin/true")
	for _, cmd := range []*exec.Cmd{notGo, zombie} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // killed is what we want
		})
	}
	for _, c := range []struct {
		name, pid string
		words     []string
	}{
		{"gone", strconv.Itoa(gone.Process.Pid), []string{"no such process"}},
		{"negative", "-5", []string{"not a process ID"}},
		{"zero", "0", []string{"not a process ID"}},
		{"not Go", strconv.Itoa(notGo.Process.Pid), []string{"not a Go program"}},
		{"zombie", strconv.Itoa(zombie.Process.Pid), []string{"process " + strconv.Itoa(zombie.Process.Pid)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out.json")
			clew(t, "stack", "--pid", c.pid, "--format", "json", "-o", out).oneLine(t, failed, append(c.words, c.pid)...)
			absent(t, out)
		})
	}
}

// TestAttachTraced: only one debugger can hold a process.
func TestAttachTraced(t *testing.T) {
	p := build(t, variantNamed(t, "static-O1-g-fp"))
	testneed.Ptrace(t)
	runtime.LockOSThread() // the tracer is a thread, and would be gone with it
	defer runtime.UnlockOSThread()
	cmd := exec.Command(p.Path, "plain", "syscall", filepath.Join(t.TempDir(), "record"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed is what we want
	}()
	clew(t, "stack", "--pid", strconv.Itoa(cmd.Process.Pid)).oneLine(t, failed, "debugging it already", strconv.Itoa(cmd.Process.Pid))
}

// nobody and another are users without rights.
const nobody, another = 65534, 65533

// as makes a command of another user's.
func as(uid uint32, cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	cmd.Dir = "/"
	cmd.Env = []string{"HOME=/nonexistent", "PATH=" + os.Getenv("PATH")}
	return cmd
}

// parkAs starts a program of the user nobody, waits until it stays where it is,
// and returns its process ID.
func parkAs(t testing.TB, scenario string) string {
	t.Helper()
	return strconv.Itoa(parkProgramAs(t, build(t, variantNamed(t, "static-O1-g-fp")), scenario).pid)
}

func parkProgramAs(t testing.TB, p program.Program, scenario string) parked {
	t.Helper()
	if os.Getuid() != 0 {
		testneed.LeaveOut(t, "running programs as other users needs root")
	}
	stem := filepath.Join(t.TempDir(), "record")
	for _, dir := range []string{filepath.Dir(p.Path), filepath.Dir(filepath.Dir(stem)), filepath.Dir(stem)} {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	cmd := as(nobody, exec.Command(p.Path, scenario, "syscall", stem))
	cmd.Env = append(cmd.Env, "NATIVE_LIBRARY="+p.Library)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed is what we want
	})
	return awaitParked(t, cmd.Process.Pid, stem, "syscall")
}

// TestAttachOtherUser: another user's process is refused by naming the user.
func TestAttachOtherUser(t *testing.T) {
	pid := parkAs(t, "many")
	run(t, as(another, exec.Command(clewPath(), "stack", "--pid", pid))).oneLine(t, failed, pid, "another user", strconv.Itoa(nobody), "as that user or as root")
	testneed.Ptrace(t)
	if o := clew(t, "stack", "--pid", pid, "--goroutine", "all"); o.code != done && o.code != truncated {
		t.Errorf("root may attach, but: %v", o)
	}
}

const yamaFile = "/proc/sys/kernel/yama/ptrace_scope"

// TestAttachSameUser: a process of the same user's can be refused by Yama, which
// is named with the way out, or for other reasons, where it is not.
func TestAttachSameUser(t *testing.T) {
	clewAsNobody := func(pid string) outcome {
		return run(t, as(nobody, exec.Command(clewPath(), "stack", "--pid", pid, "--goroutine", "all")))
	}
	o := clewAsNobody(parkAs(t, "undumpable")).oneLine(t, failed, "permitted")
	if strings.Contains(o.stderr, "Yama") || strings.Contains(o.stderr, "another user") {
		t.Errorf("the process is the user's own, and it is not Yama that refuses it: %v", o)
	}
	pid := parkAs(t, "many")
	scope, err := os.ReadFile(yamaFile)
	if err != nil { // a kernel without
		if o := clewAsNobody(pid); o.code != done && o.code != truncated {
			t.Errorf("nothing stands against attaching, but: %v", o)
		}
		return
	}
	if err := os.WriteFile(yamaFile, []byte("1"), 0o644); err != nil {
		testneed.LeaveOut(t, "%s cannot be set: %v", yamaFile, err)
	}
	defer func() {
		if err := os.WriteFile(yamaFile, scope, 0o644); err != nil {
			t.Error(err)
		}
	}()
	clewAsNobody(pid).oneLine(t, failed, "Yama", "ptrace_scope")
}

// TestNeverStops: the program ends, at a location that does not exist or
// without any, or stops before it reaches one.
func TestNeverStops(t *testing.T) {
	p := build(t, variantNamed(t, "static-O1-g-fp"))
	out := filepath.Join(t.TempDir(), "out.json")
	s := launch(t, p, "plain", "break", "--break", "no_such_function", "-o", out)
	s.want(t, failed)
	last := s.stderr[strings.LastIndexByte(strings.TrimSuffix(s.stderr, "\n"), '\n')+1:]
	for _, w := range []string{"clew: ", "no_such_function", "exited with status 0", "spelling"} {
		if !strings.Contains(last, w) {
			t.Errorf("the last line does not say %q: %v", w, s)
		}
	}
	absent(t, out)
	s = launch(t, p, "plain", "int3", "--break", "leaf_break", "-o", out)
	if s.want(t, done); !strings.Contains(s.stderr, `stopped by itself (breakpoint instruction in the program) before it reached "leaf_break"`) {
		t.Error(s)
	}
	if err := os.Remove(out); err != nil {
		t.Error(err)
	}
	s = launch(t, p, "plain", "break", "-o", out)
	if s.want(t, failed); !strings.Contains(s.stderr, "without stopping; set a breakpoint with --break") {
		t.Error(s)
	}
	absent(t, out)
}

// TestOutputApart: the program's own output never mixes into clew's.
func TestOutputApart(t *testing.T) {
	p := build(t, variantNamed(t, "static-O1-g-fp"))
	const programOutput = "the program's own output\n"
	for _, format := range []string{"json", "swift", "snapshot", "text"} {
		s := launch(t, p, "plain", "int3", "--format", format)
		s.want(t, done)
		if strings.Contains(s.stdout, programOutput) || !strings.Contains(s.stderr, programOutput) {
			t.Errorf("the program's output is not on stderr: %v", s)
		}
		if format != "text" && (strings.Count(s.stdout, "\n") != 1 || !strings.HasPrefix(s.stdout, "{")) {
			t.Errorf("more than one document on stdout: %v", s)
		}
	}
}

// TestUnwritable: output that cannot be written leaves nothing behind.
func TestUnwritable(t *testing.T) {
	p := build(t, variantNamed(t, "static-O1-g-fp"))
	dir := t.TempDir()
	for _, c := range []struct{ format, path string }{
		{"json", filepath.Join(dir, "missing", "out.json")}, {"cbf", filepath.Join(dir, "missing", "out.cbf")}, {"snapshot", dir},
	} {
		s := launch(t, p, "plain", "int3", "--format", c.format, "-o", c.path)
		if s.want(t, failed); !strings.Contains(s.stderr, "\nclew: ") || !strings.Contains(s.stderr, c.path) || strings.Count(s.stderr, "\n") != 2 {
			t.Error(s) // the program's line and clew's
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
