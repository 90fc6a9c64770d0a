package dap

import (
	"errors"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testkit"
)

// patience is far above what anything takes, on a loaded machine too.
const patience = 2 * time.Minute

// server is a running `dlv dap` or `clew dap`.
type server struct {
	*testkit.Server
	t      testing.TB
	cmd    *exec.Cmd
	addr   string
	stderr *testkit.Buffer
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
	s := &server{t: t, cmd: exec.Command(exe, args...), stderr: new(testkit.Buffer)}
	s.cmd.Stderr = s.stderr
	var err error
	if s.Server, err = testkit.Serve(banner, s.cmd); err != nil {
		t.Fatalf("%v; stderr: %s", err, s.stderr)
	}
	t.Cleanup(s.Kill)
	s.addr = s.Addr
	return s
}

// wait waits for the server's end.
func (s *server) wait() error {
	s.t.Helper()
	err := s.Wait()
	if errors.Is(err, testkit.ErrStays) {
		s.t.Fatalf("%v; stderr: %s", err, s.stderr)
	}
	return err
}

// conn connects to the server.
func (s *server) conn() net.Conn {
	s.t.Helper()
	conn, err := testkit.Dial(s.addr)
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
