package dap

import (
	"bufio"
	"bytes"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is far above what anything takes, on a loaded machine too.
const patience = 2 * time.Minute

// server is a running `dlv dap` or `clew dap`.
type server struct {
	t      testing.TB
	cmd    *exec.Cmd
	addr   string
	stderr *lockedBuffer
	stdout *lockedBuffer // after the banner
	exited chan error
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

const banner = "DAP server listening at: "

// start starts a server and waits for its banner.
func start(t testing.TB, exe string, flags ...string) *server {
	t.Helper()
	if !strings.Contains(strings.Join(flags, " "), "--listen") {
		flags = append([]string{"--listen=127.0.0.1:0"}, flags...)
	}
	return startAny(t, banner, exe, append([]string{"dap"}, flags...)...)
}

// startAny starts any server that writes a banner and its address first.
func startAny(t testing.TB, banner, exe string, args ...string) *server {
	t.Helper()
	s := &server{t: t, cmd: exec.Command(exe, args...), stderr: &lockedBuffer{}, stdout: &lockedBuffer{}, exited: make(chan error, 1)}
	s.cmd.Stderr = s.stderr
	// A group of its own: processes that it leaves behind can be found and ended.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	if err != nil || !strings.HasPrefix(first, banner) {
		t.Fatalf("%s %s says %q, %v; stderr: %s", exe, args[0], first, err, s.stderr)
	}
	s.addr = strings.TrimSuffix(strings.TrimPrefix(first, banner), "\n")
	go func() {
		_, _ = lines.WriteTo(s.stdout)
		s.exited <- s.cmd.Wait()
	}()
	return s
}

// kill ends the server and the processes that it has launched.
func (s *server) kill() { _ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) }

// wait waits for the server's end.
func (s *server) wait() error {
	s.t.Helper()
	select {
	case err := <-s.exited:
		s.exited <- err
		return err
	case <-time.After(patience):
		s.t.Fatalf("the server does not end; stderr: %s", s.stderr)
		return nil
	}
}

// conn connects to the server.
func (s *server) conn() net.Conn {
	s.t.Helper()
	network, addr := "tcp", s.addr
	if strings.HasPrefix(addr, "/") {
		network = "unix"
	}
	conn, err := net.Dial(network, addr)
	if err != nil {
		s.t.Fatal(err)
	}
	return conn
}

func (s *server) dial() *client {
	s.t.Helper()
	c := newClient(s.t, s.conn())
	c.numbered = filepath.Base(s.cmd.Path) == "clew"
	return c
}
