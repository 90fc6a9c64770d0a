package testkit

import (
	"errors"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestServe: a server's address is behind its banner, what it writes later is kept, and its end does not wait for a
// program that it leaves behind.
func TestServe(t *testing.T) {
	start := time.Now()
	s, err := Serve("here: ", exec.Command("sh", "-c", "echo here: /a/socket; echo more; sleep 600 & exit 3"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	var exit *exec.ExitError
	if err := s.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 3 || s.Addr != "/a/socket" || s.Stdout.String() != "more\n" {
		t.Errorf("%v, %q, %q", err, s.Addr, s.Stdout)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("it takes %v", took)
	}
	if s, err := Serve("here: ", exec.Command("sh", "-c", "echo elsewhere")); err == nil || !strings.Contains(err.Error(), "elsewhere") {
		t.Error(s, err)
	}
	if s, err := Serve("here: ", exec.Command("true")); !errors.Is(err, io.EOF) {
		t.Error(s, err)
	}
	s, err = Serve("", exec.Command("sh", "-c", "sleep 600"))
	if err != nil {
		t.Fatal(err)
	}
	s.Kill()
	if status := s.Cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
		t.Error(status)
	}
}
