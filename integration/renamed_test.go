package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestRenamed: a program that has changed the name of its first thread ends with clew, and the name's control characters are not
// written raw.
func TestRenamed(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "main.go"), []byte(`package main

import (
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

func main() {
	runtime.LockOSThread()
	name := []byte("t\x1b[2J (x) Z\x00")
	syscall.RawSyscall(syscall.SYS_PRCTL, 15, uintptr(unsafe.Pointer(&name[0])), 0) // PR_SET_NAME
	if err := os.WriteFile(os.Args[1], []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		panic(err)
	}
	runtime.Breakpoint()
	time.Sleep(time.Hour)
}
`))
	exe := filepath.Join(dir, "renamed")
	if out, err := exec.Command("go", "build", "-o", exe, filepath.Join(dir, "main.go")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	pid := filepath.Join(dir, "pid")
	o := clew(t, "stack", "--", exe, pid)
	o.want(t, done)
	if strings.Contains(o.stdout+o.stderr, "\x1b[2J") {
		t.Errorf("raw: %q", o.stdout)
	}
	number, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(testneed.Patience(10 * time.Second)); ; time.Sleep(10 * time.Millisecond) {
		stat, err := os.ReadFile("/proc/" + string(number) + "/stat")
		if err != nil || strings.HasPrefix(string(stat[strings.LastIndex(string(stat), ") ")+2:]), "Z") {
			return // it is gone, or a zombie that waits to be reaped
		}
		if time.Now().After(end) {
			t.Fatalf("the program lives on: %s", stat)
		}
	}
}
