package testkit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

// Patience is far above what anything takes, on a loaded machine too.
var Patience = testneed.Patience(2 * time.Minute)

// A Server is a process that has said where it listens.
type Server struct {
	Cmd  *exec.Cmd
	Addr string // of a TCP port, or the path of a Unix socket
	// Stdout is what it has written behind its first line.
	Stdout *Buffer

	ended chan struct{}
	err   error
}

// Serve starts a server, and waits for its first line, which is banner and its address; without a banner for nothing. The
// server is in a process group of its own, with the programs that it starts.
func Serve(banner string, cmd *exec.Cmd) (*Server, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Setpgid = true
	// A pipe of ours: the server's end does not wait for a program that has its output open.
	out, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = to
	err = cmd.Start()
	_ = to.Close()
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	s := &Server{Cmd: cmd, Stdout: new(Buffer), ended: make(chan struct{})}
	lines, read := bufio.NewReader(out), make(chan struct{})
	var first string
	var firstErr error
	if banner != "" {
		first, firstErr = lines.ReadString('\n')
	}
	go func() {
		defer close(read)
		_, _ = lines.WriteTo(s.Stdout)
		_ = out.Close()
	}()
	go func() {
		defer close(s.ended)
		s.err = cmd.Wait()
		select {
		case <-read:
		case <-time.After(time.Second):
		}
	}()
	var ok bool
	if s.Addr, ok = strings.CutPrefix(strings.TrimSuffix(first, "\n"), banner); firstErr != nil || !ok {
		s.Kill()
		return nil, fmt.Errorf("%s says %q: %w", cmd, first, errors.Join(firstErr, s.err))
	}
	return s, nil
}

// Dial connects to a server's address.
func Dial(addr string) (net.Conn, error) {
	if strings.HasPrefix(addr, "/") {
		return net.Dial("unix", addr)
	}
	return net.Dial("tcp", addr)
}

// ErrStays is of a server that does not end.
var ErrStays = errors.New("the server does not end")

// Wait waits for the server's end, within Patience.
func (s *Server) Wait() error {
	select {
	case <-s.ended:
		return s.err
	case <-time.After(Patience):
		return ErrStays
	}
}

// Kill ends the server, and the programs that it has started, whether it has ended or not.
func (s *Server) Kill() {
	_ = syscall.Kill(-s.Cmd.Process.Pid, syscall.SIGKILL)
	<-s.ended
}

// Buffer is a [bytes.Buffer] for several goroutines.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
