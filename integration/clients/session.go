package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/rpc/jsonrpc"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/internal/testkit"
)

// work is the program that is debugged, and what it was built with.
type work struct {
	folder, clew, program, source string
	dlv                           string // "" until it is needed
}

// build builds the program, and clew unless a path is given. GOFLAGS=-race is for clew alone: the program's threads race on purpose.
func build(clew string) (*work, error) {
	folder, err := os.MkdirTemp("", "clew-clients-")
	if err != nil {
		return nil, err
	}
	w := &work{folder: folder, clew: clew, program: filepath.Join(folder, "loop")}
	if w.source, err = filepath.EvalSymlinks(sourceFolder()); err != nil {
		return nil, err
	}
	if err := testkit.GoIn(w.source, nil, "build", "-race=false", "-gcflags=all=-N -l", "-o", w.program, "main.go"); err != nil {
		return nil, err
	}
	if w.clew == "" {
		w.clew = filepath.Join(folder, "clew")
		return w, testkit.BuildClew(w.clew)
	}
	return w, nil
}

// remove removes the folder, and kills what still runs from there: a server that was killed while it did not answer may leave its program behind,
// which holds this process's output open.
func (w *work) remove() {
	left, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range left {
		exe, err := os.Readlink(link)
		pid, failed := strconv.Atoi(filepath.Base(filepath.Dir(link)))
		if err == nil && failed == nil && strings.HasPrefix(exe, w.folder+"/") {
			fmt.Fprintf(os.Stderr, "left behind, and killed: process %d, %s\n", pid, exe)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	_ = os.RemoveAll(w.folder)
}

// line finds a line of the program's source.
func (w *work) line(text string) (path string, line int) {
	path = filepath.Join(w.source, "main.go")
	content, err := os.ReadFile(path)
	if err != nil {
		return path, 0
	}
	for i, l := range strings.Split(string(content), "\n") {
		if strings.Contains(l, text) {
			return path, i + 1
		}
	}
	return path, 0
}

// server is a server of clew's, or Delve's.
type server struct {
	cmd  *exec.Cmd
	addr string
	done chan struct{}
	up   *server // before which it stands; may be nil
}

// serve starts a server of clew's.
func (w *work) serve(args ...string) (*server, error) { return w.start(w.clew, args...) }

// start starts a server, which says its address first.
func (w *work) start(name string, args ...string) (*server, error) {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+filepath.Join(w.folder, "config"))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	_, addr, ok := strings.Cut(strings.TrimSpace(first), "listening at: ")
	if err != nil || !ok {
		_ = cmd.Process.Kill()
		return nil, fmt.Errorf("%s says %q", name, first)
	}
	s := &server{cmd: cmd, addr: addr, done: make(chan struct{})}
	go func() { _, _ = lines.WriteTo(io.Discard) }()
	go func() {
		_ = cmd.Wait() // not for the end of the output: the program may have it open
		close(s.done)
	}()
	return s, nil
}

// headless starts a server that has the program already.
func (w *work) headless() (*server, error) {
	return w.serve("exec", w.program, "--headless", "--accept-multiclient", "--listen=127.0.0.1:0")
}

// multi starts a server for the sessions of many editors.
func (w *work) multi() (*server, error) { return w.serve("dap", "--multi", "--listen=127.0.0.1:0") }

// buildDlv builds dlv, once.
func (w *work) buildDlv() error {
	if w.dlv != "" {
		return nil
	}
	path := filepath.Join(w.folder, "dlv")
	err := testkit.BuildDlvAlone(path)
	if err == nil {
		w.dlv = path
	}
	return err
}

// through starts clew proxy before Delve's own server; the proxy ends with it.
func (w *work) through() (*server, error) {
	if err := w.buildDlv(); err != nil {
		return nil, err
	}
	up, err := w.start(w.dlv, "exec", w.program, "--headless", "--accept-multiclient", "--listen=127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s, err := w.serve("proxy", "--listen=127.0.0.1:0", up.addr)
	if err != nil {
		return nil, errors.Join(err, up.terminate())
	}
	s.up = up
	return s, nil
}

var errStays = errors.New("the server does not end after SIGTERM")

// detach has a server kill its program, which Delve's leaves behind where a signal ends it.
func (s *server) detach() {
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		return // it has ended
	}
	client := jsonrpc.NewClient(conn)
	_ = client.Call("RPCServer.Command", api.DebuggerCommand{Name: api.Halt}, new(rpc2.CommandOut))
	_ = client.Call("RPCServer.Detach", rpc2.DetachIn{Kill: true}, new(rpc2.DetachOut))
}

// terminate ends a server in order, and kills one that does not end.
func (s *server) terminate() error {
	if s.up != nil {
		s.up.detach()
		return errors.Join(s.up.terminate(), (&server{cmd: s.cmd, done: s.done}).terminate())
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.done:
		return nil
	case <-time.After(patience):
	}
	_ = s.cmd.Process.Kill()
	<-s.done
	return errStays
}
