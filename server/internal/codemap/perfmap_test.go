package codemap

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

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
