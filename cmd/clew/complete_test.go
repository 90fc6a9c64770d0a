package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// waiting is set in the environment of a process of this test binary that waits, so
// that its goroutines can be listed.
const waiting = "CLEW_TEST_WAITS"

func TestMain(m *testing.M) {
	if os.Getenv(waiting) != "" {
		wait()
	}
	os.Exit(m.Run())
}

// wait prints the ID of a goroutine that waits for a channel, and waits too.
func wait() {
	ids, never := make(chan string), make(chan int)
	go func() {
		stack := make([]byte, 64)
		ids <- strings.Fields(string(stack[:runtime.Stack(stack, false)]))[1] // goroutine ID [running]:
		<-never
	}()
	fmt.Println(<-ids)
	_, _ = os.Stdin.Read(make([]byte, 1)) // until the test ends
	os.Exit(0)
}

// complete returns what the shell offers for the last argument.
func complete(t *testing.T, args ...string) []string {
	t.Helper()
	root, err := commandTree()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&bytes.Buffer{})
	root.SetArgs(append([]string{"__complete"}, args...))
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(out.String()), "\n")
}

// TestCompleteProcess: the parent, for every command that takes a process; not clew itself.
func TestCompleteProcess(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	parent := strconv.Itoa(os.Getppid()) + "\t"
	for _, command := range [][]string{{"stack", "--pid", ""}, {"attach", ""}} {
		list := complete(t, command...)
		if !slices.ContainsFunc(list, func(s string) bool { return strings.HasPrefix(s, parent) }) {
			t.Errorf("%v: the parent %s is missing in %q", command, parent, list)
		}
		if self := strconv.Itoa(os.Getpid()) + "\t"; strings.Contains(strings.Join(list, "\n"), "\n"+self) {
			t.Errorf("%v: itself is in %q", command, list)
		}
	}
}

// TestCompleteGoroutine compares with what a process says of itself.
func TestCompleteGoroutine(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), waiting+"=1")
	hold, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hold.Close(); _ = cmd.Wait() }()
	id, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, want := strconv.Itoa(cmd.Process.Pid), strings.TrimSpace(id)+"\tchan receive"
	if list := complete(t, "stack", "--pid", pid, "--goroutine", ""); !slices.Contains(list, want) || !slices.Contains(list, "all") {
		t.Errorf("%q is missing in %q", want, list)
	}
	if list := complete(t, "stack", "--pid", pid, "--thread", ""); !slices.ContainsFunc(list, func(s string) bool { return strings.HasPrefix(s, pid+"\t") }) {
		t.Errorf("thread %s is missing in %q", pid, list)
	}
	if list := complete(t, "stack", "--goroutine", ""); !slices.Equal(list[:2], []string{"current", "all"}) {
		t.Errorf("without a process: %q", list)
	}
}

// TestCompleteCore: core files alone, where a folder has one. integration's TestCore has
// goroutines of one.
func TestCompleteCore(t *testing.T) {
	folder := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 64)
	f, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Read(head); err != nil || string(head[:4]) != "\x7fELF" {
		testneed.LeaveOut(t, "executables here are not ELF")
	}
	copy(head[16:], []byte{4, 0})                      // e_type: ET_CORE
	copy(head[32:40], []byte{64, 0, 0, 0, 0, 0, 0, 0}) // e_phoff
	copy(head[40:48], make([]byte, 8))                 // e_shoff
	copy(head[56:64], []byte{1, 0, 0, 0, 0, 0, 0, 0})  // e_phnum, e_shentsize, e_shnum, e_shstrndx
	notes := make([]byte, 56)                          // p_type: PT_NOTE; there are none
	notes[0] = 4
	head = append(head, notes...)
	for name, data := range map[string][]byte{"core.1": head, "core.txt": []byte("text")} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	core := filepath.Join(folder, "core.1")
	for _, command := range [][]string{{"stack", "--core", folder + "/c"}, {"core", "./app", folder + "/"}} {
		if list := complete(t, command...); !slices.Equal(list, []string{core, ":4"}) { // 4: no other files
			t.Errorf("%v: %q", command, list)
		}
	}
	if list := complete(t, "stack", "--core", folder+"/x"); !slices.Equal(list, []string{":0"}) {
		t.Errorf("no core: %q, want any file", list)
	}
}
