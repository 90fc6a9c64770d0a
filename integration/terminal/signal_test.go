//go:build linux

package terminal

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSecondSignal: a second signal does not end a server before it has ended the program
// that it has launched, nor one while the program is started.
func TestSecondSignal(t *testing.T) {
	need(t)
	p := native(t, "linked-O2-omit-stripped")
	for _, second := range []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond} {
		t.Run(second.String(), func(t *testing.T) {
			server := exec.Command(binary("clew"), "exec", "--headless", "--accept-multiclient", "--listen", "unix:"+filepath.Join(t.TempDir(), "s"),
				p.Path, "--", "plain", "spin", filepath.Join(t.TempDir(), "record"))
			server.Env, server.Stderr = p.Env(), os.Stderr
			out, err := server.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = server.Process.Kill() }()
			if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			program := running(t, server.Process.Pid, p.Path)
			_ = server.Process.Signal(syscall.SIGTERM)
			time.Sleep(second)
			_ = server.Process.Signal(syscall.SIGTERM)
			if err := server.Wait(); err != nil {
				t.Error(err)
			}
			if err := syscall.Kill(program, 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("the program is left behind: %v", err)
				_ = syscall.Kill(program, syscall.SIGKILL)
			}
		})
	}
}

// running returns the process below another one that runs an executable, once it does.
func running(t *testing.T, parent int, exe string) int {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
		if err != nil {
			t.Fatal(err)
		}
		for _, list := range lists {
			text, _ := os.ReadFile(list) // the thread may have ended
			for _, child := range strings.Fields(string(text)) {
				if path, err := os.Readlink("/proc/" + child + "/exe"); err == nil && path == exe {
					pid, _ := strconv.Atoi(child)
					return pid
				}
			}
		}
	}
	t.Fatalf("process %d does not run %s", parent, exe)
	return 0
}
