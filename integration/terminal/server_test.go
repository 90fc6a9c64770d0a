//go:build linux

package terminal

import (
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

	"github.com/clewdbg/clew/internal/testkit"
)

// headless starts a server, and returns its address.
func headless(t *testing.T, tool string, env []string, args ...string) (addr string) {
	t.Helper()
	return serving(t, "API server listening at: ", tool, env, args...)
}

// serving starts a process that says where it serves. It must end by itself.
func serving(t *testing.T, banner, tool string, env []string, args ...string) (addr string) {
	t.Helper()
	cmd := exec.Command(binary(tool), args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	s, err := testkit.Serve(banner, cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !t.Failed() && errors.Is(s.Wait(), testkit.ErrStays) {
			t.Error("the server does not end with its client")
		}
		s.Kill()
	})
	addr = s.Addr
	if !strings.HasPrefix(addr, "unix:") {
		addr = "unix:" + addr
	}
	return addr
}

// TestHeadless: dlv's terminal, connected to a headless server of clew's, shows
// clew's stacks; clew's terminal, connected to a server of dlv's, dlv's.
func TestHeadless(t *testing.T) {
	need(t)
	p := native(t, "linked-O2-omit-stripped")
	testkit.SameAddresses(t)
	args := []string{"callback", "int3", filepath.Join(t.TempDir(), "record")}
	want := assembled(t, p, args...)
	start := func(tool string) string {
		return headless(t, tool, p.Env(), append([]string{"exec", "--headless", "--listen", "unix:" + filepath.Join(binary(""), tool+".sock"), p.Path, "--"}, args...)...)
	}
	script := []string{"continue", "stack 100", "frame 10 regs"}
	s := session{tool: "dlv", args: []string{"connect", start("clew")}, script: script}
	out := s.play(t)
	compare(t, framesOf(t, out)[0], &want)
	if pc := fmt.Sprintf("Rip = 0x%016x", uint64(want.Frames[10].PC)); !strings.Contains(out, pc) {
		t.Errorf("frame 10 is another:\n%s", out)
	}
	s = session{tool: "clew", args: []string{"connect", start("dlv")}, script: script}
	out = s.play(t)
	if got := framesOf(t, out)[0]; len(got) >= len(want.Frames) {
		t.Errorf("dlv's own stack has %d frames:\n%s", len(got), out)
	}
}

// TestAttach: a process that was attached to shows clew's stacks, and goes on.
func TestAttach(t *testing.T) {
	need(t)
	p := native(t, "linked-O2-omit-stripped")
	cmd := exec.Command(p.Path, "plain", "spin", filepath.Join(t.TempDir(), "record"))
	cmd.Env = p.Env()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	out := ""
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Second) {
		s := session{tool: "clew", args: []string{"attach", strconv.Itoa(cmd.Process.Pid)}, script: []string{"goroutine 1 stack 100"}}
		var code int
		if out, code = s.end(t); code != 0 {
			t.Fatalf("it ends with %d:\n%s", code, out)
		}
		if strings.Contains(out, "libnative.so+") {
			break
		}
	}
	for _, want := range []string{"in outer\n", "in main._Cfunc_outer\n", "in main.second\n", "in main.main\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "(truncated)") {
		t.Errorf("it is not whole:\n%s", out)
	}
	if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the process is gone: %v", err)
	}
}

// TestCore: a core file, written by the kernel, shows clew's stacks.
func TestCore(t *testing.T) {
	need(t)
	p := native(t, "linked-O2-omit-stripped")
	core := testkit.Core(t, p.Env(), p.Path, "plain", "core", filepath.Join(t.TempDir(), "record"))
	s := session{tool: "clew", args: []string{"core", p.Path, core}, script: []string{"stack 100", "frame 3", "stepout"}}
	out := s.play(t)
	for _, want := range []string{"in outer\n", "in main._Cfunc_outer\n", "in main.main\n", "Frame 3: "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q", want)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}
