package codemap

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/testneed"
)

// TestPerfMapInContainer: a process with another root folder and PID namespace writes its perf
// map where it sees /tmp, under the ID that it knows.
func TestPerfMapInContainer(t *testing.T) {
	testneed.Platform(t, "linux/amd64", "linux/arm64")
	root := t.TempDir()
	source := filepath.Join(t.TempDir(), "main.go")
	const program = `package main

import ("os"; "fmt"; "time")

func main() {
	os.WriteFile(fmt.Sprintf("/tmp/perf-%d.map", os.Getpid()), []byte("1000 10 inside\n"), 0o600)
	time.Sleep(time.Hour)
}
`
	if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", filepath.Join(root, "program"), source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Mkdir(filepath.Join(root, "tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/program")
	one := func(id int) []syscall.SysProcIDMap { return []syscall.SysProcIDMap{{HostID: id, Size: 1}} }
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Chroot: root, Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWUSER, Pdeathsig: syscall.SIGKILL,
		UidMappings: one(os.Getuid()), GidMappings: one(os.Getgid()),
	}
	if err := cmd.Start(); err != nil {
		testneed.LeaveOut(t, "no namespaces here: %v", err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed is what we want
	}()
	var p perfMap
	for end := time.Now().Add(20 * time.Second); len(p.symbols) == 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if _, err := p.read(aboutProcess(cmd.Process.Pid)); err != nil {
			t.Fatal(err)
		}
	}
	if len(p.symbols) != 1 || p.symbols[0].Name != "inside" {
		t.Errorf("%+v", p.symbols)
	}
}

// TestJitDump: a dump counts if the process has mapped it executable, and if it is its own.
func TestJitDump(t *testing.T) {
	root := t.TempDir()
	write := func(name string, pid byte, rest ...byte) {
		header := make([]byte, 40)
		copy(header, []byte{0x44, 0x54, 0x69, 0x4a, 1})
		header[8], header[12], header[20] = 40, 62, pid
		if err := os.WriteFile(filepath.Join(root, name), append(header, rest...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code := make([]byte, 16+40+4)
	code[4], code[16+16+1], code[16+24] = byte(len(code)), 0x10, 2 // a function f of 2 bytes at 0x1000
	copy(code[56:], "f\x00\x90\xc3")
	mapping := func(perm string) []imagemap.Mapping {
		return []imagemap.Mapping{{Start: 0x5000, End: 0x6000, Perm: perm, Path: "/jit-7.dump"}}
	}
	self := &process{root: root, id: "7"}
	var d jitDump
	write("jit-7.dump", 7, code...)
	for _, c := range []struct {
		perm    string
		changed bool
		symbols int
	}{{"rw-p", false, 0}, {"r-xp", true, 1}, {"r-xp", false, 1}, {"rw-p", true, 0}} {
		if changed, err := d.read(self, mapping(c.perm)); err != nil || changed != c.changed || len(d.symbols) != c.symbols {
			t.Errorf("%+v: %v, %v, %+v", c, changed, err, d.symbols)
		}
	}
	write("jit-7.dump", 8, code...)
	if _, err := d.read(self, mapping("r-xp")); err == nil || !strings.Contains(err.Error(), "is of process 8") || len(d.symbols) > 0 {
		t.Errorf("another process's: %v, %+v", err, d.symbols)
	}
}
