package dap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
)

// gone waits for a process to end.
func gone(t testing.TB, pid int) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || bytes.Contains(stat, []byte(") Z ")) {
			return
		}
	}
	t.Errorf("process %d is still there", pid)
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// waiting launches the program that waits, and returns its process ID.
func (c *client) waiting(exe string) (pid int) {
	c.t.Helper()
	c.initialize()
	c.ok("launch", object{"mode": "exec", "program": exe, "args": []string{"wait"}, "outputMode": "remote"})
	pid = int(c.event("process")["systemProcessId"].(float64))
	c.event("initialized")
	c.ok("configurationDone", nil)
	return pid
}

// TestBanner: the output is dlv's, on the same streams.
func TestBanner(t *testing.T) {
	dlv, clew := peers(t)
	for _, flags := range [][]string{nil, {"--log"}, {"--log", "--log-output=dap"}, {"--headless", "--init=x", "--wd=/", "--accept-multiclient", "x", "--", "y"}} {
		var texts [2]string
		for i, exe := range []string{dlv, clew} {
			s := start(t, exe, flags...) // the banner on stdout
			c := s.dial()
			c.initialize()
			c.ok("disconnect", nil)
			c.end()
			if err := s.wait(); err != nil {
				t.Errorf("%s %v: %v", exe, flags, err)
			}
			stderr := s.stderr.String()
			if strings.Contains(stderr, "layer=dap") {
				stderr = "layer=dap" // the messages have numbers and times
			}
			texts[i] = s.Stdout.String() + "\n" + stderr
		}
		if texts[0] != texts[1] {
			t.Errorf("%v:\ndlv  %q\nclew %q", flags, texts[0], texts[1])
		}
	}
}

// TestLogDestination: with --log-dest=3 the banner comes there, which is how the
// Go extension of VS Code waits for it.
func TestLogDestination(t *testing.T) {
	dlv, clew := peers(t)
	for _, exe := range []string{dlv, clew} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(exe, "dap", "--listen=127.0.0.1:0", "--log-dest=3")
		cmd.ExtraFiles = []*os.File{w}
		var stdout bytes.Buffer
		cmd.Stdout = &stdout
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_ = w.Close()
		line := make([]byte, 200)
		n, err := r.Read(line)
		got := string(line[:n])
		if err != nil || !strings.HasPrefix(got, banner+"127.0.0.1:") || !strings.HasSuffix(got, "\n") {
			t.Errorf("%s: %q, %v", exe, got, err)
		}
		conn, err := net.Dial("tcp", strings.TrimSpace(strings.TrimPrefix(got, banner)))
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Close() // which ends the server
		if err := cmd.Wait(); err != nil || stdout.Len() > 0 {
			t.Errorf("%s ends with %v; stdout: %q", exe, err, stdout.String())
		}
		_ = r.Close()
	}
}

// TestWrongUsage: errors of the command line end alike.
func TestWrongUsage(t *testing.T) {
	dlv, clew := peers(t)
	for _, flags := range [][]string{{"--listen=nonsense"}, {"--listen=127.0.0.1:0", "--log-output=dap"}, {"--client-addr=127.0.0.1:1"}, {"--no-such-flag"}} {
		var codes [2]int
		var stdout [2]string
		for i, exe := range []string{dlv, clew} {
			out, err := exec.Command(exe, append([]string{"dap"}, flags...)...).Output()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if exit != nil {
				codes[i] = exit.ExitCode()
			}
			stdout[i] = string(out)
		}
		if codes[0] != codes[1] || stdout[0] != stdout[1] {
			t.Errorf("%v: dlv ends with %d and prints %q, clew with %d and %q", flags, codes[0], stdout[0], codes[1], stdout[1])
		}
	}
}

// TestUnixSocket serves on a socket that is for its owner only.
func TestUnixSocket(t *testing.T) {
	exe, _ := plain(t)
	testneed.Ptrace(t)
	dir, err := os.MkdirTemp("", "d") // short: such paths end at 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	s := start(t, binary("clew"), "--listen=unix:"+path)
	if s.addr != path {
		t.Errorf("the banner names %q", s.addr)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", info, err)
	}
	c := s.dial()
	c.numbered = true
	pid := c.waiting(exe)
	c.disconnect()
	gone(t, pid)
	if err := s.wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is left behind: %v", err)
	}
}

// TestClientAddress dials the client that waits.
func TestClientAddress(t *testing.T) {
	exe, _ := plain(t)
	testneed.Ptrace(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmd := exec.Command(binary("clew"), "dap", "--client-addr="+l.Addr().String())
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, conn)
	c.numbered = true
	pid := c.waiting(exe)
	c.disconnect()
	gone(t, pid)
	if err := cmd.Wait(); err != nil || output.Len() > 0 {
		t.Errorf("%v, %q", err, output.String())
	}
}

// stdio is a server's standard input and output.
type stdio struct {
	io.Reader
	io.WriteCloser
}

// TestStdio speaks on standard input and output, which the program does not have.
func TestStdio(t *testing.T) {
	exe, _ := plain(t)
	testneed.Ptrace(t)
	for name, arguments := range map[string]object{
		"debug":   {"mode": "exec", "program": exe, "args": []string{"output"}},
		"noDebug": {"mode": "exec", "program": exe, "args": []string{"output"}, "noDebug": true},
	} {
		cmd := exec.Command(binary("clew"), "dap", "--stdio")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		c := newClient(t, stdio{out, in})
		c.numbered = true
		c.initialize()
		c.ok("launch", arguments)
		if name == "debug" {
			c.event("initialized")
			c.ok("configurationDone", nil)
		}
		c.event("terminated")
		c.ok("disconnect", nil)
		c.end()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, text := range []string{"to stdout", "to stderr"} {
			if !strings.Contains(stderr.String(), text) {
				t.Errorf("%s: %q is not in %q", name, text, stderr.String())
			}
		}
	}
}

// TestMulti serves several clients at once, and goes on when one is gone.
func TestMulti(t *testing.T) {
	exe, _ := plain(t)
	testneed.Ptrace(t)
	t.Setenv("CGO_CFLAGS", "") // or the server warns of it
	log := filepath.Join(t.TempDir(), "log")
	for _, flags := range [][]string{{"--multi"}, {"--multi", "--log", "--log-output=dap", "--log-dest=" + log}} {
		var s *server
		if len(flags) > 1 {
			s = startLogged(t, log, flags)
		} else {
			s = start(t, binary("clew"), flags...)
		}
		var clients []*client
		var pids []int
		for range 3 {
			c := s.dial()
			c.numbered = true
			clients = append(clients, c)
			pids = append(pids, c.waiting(exe))
		}
		clients[0].disconnect()
		gone(t, pids[0])
		_ = clients[1].conn.Close() // without a word
		gone(t, pids[1])
		clients[2].ok("pause", object{"threadId": 1})
		clients[2].event("stopped")
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		clients[2].end()
		gone(t, pids[2])
		if err := s.wait(); err != nil {
			t.Errorf("%v: %v; stderr: %s", flags, err, s.stderr)
		}
		if text := s.stderr.String(); strings.Contains(text, "CGO_CFLAGS") {
			t.Errorf("%v: the sessions warn of what the server has set: %s", flags, text)
		}
	}
	if text, err := os.ReadFile(log); err != nil || strings.Count(string(text), `"command":"initialize"`) < 3 {
		t.Errorf("the log does not have all sessions: %v, %.500s", err, text)
	}
}

// startLogged starts a server whose banner goes to a log file.
func startLogged(t *testing.T, log string, flags []string) *server {
	t.Helper()
	s := startAny(t, "", binary("clew"), append([]string{"dap", "--listen=127.0.0.1:0"}, flags...)...)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		text, _ := os.ReadFile(log) // not there yet
		if line, _, ok := strings.Cut(string(text), "\n"); ok {
			s.addr = strings.TrimPrefix(line, banner)
			return s
		}
	}
	t.Fatal("no banner in the log")
	return nil
}

// TestOtherUser: no other user may connect on loopback or by a socket.
func TestOtherUser(t *testing.T) {
	if os.Getuid() != 0 {
		testneed.LeaveOut(t, "only root can be another user")
	}
	dir, err := os.MkdirTemp("", "d")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0", "unix:" + filepath.Join(dir, "s")} {
		if listen == "[::1]:0" {
			l, err := net.Listen("tcp", listen)
			if err != nil {
				continue // no IPv6 here
			}
			_ = l.Close()
		}
		for _, anyUser := range []bool{false, true} {
			flags := []string{"--listen=" + listen}
			if anyUser {
				flags = append(flags, "--only-same-user=false")
			}
			s := start(t, binary("clew"), flags...)
			if strings.HasPrefix(s.addr, "/") {
				if err := os.Chmod(s.addr, 0o777); err != nil {
					t.Fatal(err)
				}
			}
			answered := askAs(t, s.addr, 65534)
			if answered != anyUser {
				t.Errorf("%v: another user was answered: %v; stderr: %s", flags, answered, s.stderr)
			}
			if anyUser {
				_ = s.wait()
				continue
			}
			for end := time.Now().Add(patience); !strings.Contains(s.stderr.String(), "user 65534"); time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("%v: stderr does not mention it: %q", flags, s.stderr)
				}
			}
			c := s.dial() // the server is there for its own user
			c.initialize()
			c.ok("disconnect", nil)
			c.end()
			if err := s.wait(); err != nil {
				t.Error(err)
			}
		}
	}
}

// askAs connects as another user and asks; it says whether there was an answer.
// This very test binary is the other user's client.
func askAs(t *testing.T, addr string, uid uint32) bool {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copied := binary("ask")
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied, data, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(copied)
	cmd.Dir = "/"
	cmd.Env = []string{askEnv + "=" + addr}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.Contains(string(out), "Content-Length")
}

const askEnv = "CLEW_TEST_ASK"

// ask is the other user's client.
func ask(addr string) {
	conn, err := testkit.Dial(addr)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Fprint(conn, "Content-Length: 46\r\n\r\n"+`{"seq":1,"type":"request","command":"threads"}`)
	answer := make([]byte, 100)
	n, err := conn.Read(answer)
	fmt.Printf("%s %v\n", answer[:n], err)
}
