package serve

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/clewdbg/clew/server/delve"
)

// Multi is how a server makes a process for each session: by calling this
// executable again.
type Multi struct {
	// Command returns the arguments for a process that inherits the client's connection
	// as that file descriptor.
	Command func(fd int) []string
	// Log is inherited as file descriptor LogFD, if it is not nil.
	Log   *os.File
	LogFD int
}

// firstFD is the first file descriptor that can be inherited.
const firstFD = 3

// files returns what a session's process inherits, and the file descriptor of its
// connection.
func (m *Multi) files(conn *os.File) (files []*os.File, fd int) {
	if m.Log == nil || m.LogFD < firstFD {
		return []*os.File{conn}, firstFD
	}
	files = make([]*os.File, max(m.LogFD-firstFD+1, 2))
	files[m.LogFD-firstFD] = m.Log
	for i := range files {
		if files[i] == nil {
			files[i] = conn
			return files, firstFD + i
		}
	}
	return files, fd // not reached: at most one of two is taken
}

// runMulti serves every client in a process of its own.
func (s *Server) runMulti(interrupted <-chan os.Signal) error {
	var sessions sessions
	defer sessions.end()
	for {
		conn, err := s.accept(interrupted)
		if err != nil || conn == nil {
			return err
		}
		if err := sessions.start(s.Multi, conn); err != nil {
			delve.LogDAPError("%v", err)
		}
		_ = conn.Close() // the process has its own
	}
}

// sessions are the processes that run.
type sessions struct {
	mu      sync.Mutex
	running map[*exec.Cmd]chan struct{}
}

// fileConn is a connection that a child process can inherit.
type fileConn interface{ File() (*os.File, error) }

// start starts a session's process. It leads a process group of its own, so that
// Ctrl-C at the server's terminal reaches it through the server only, which lets
// it end its program.
func (s *sessions) start(m *Multi, conn net.Conn) error {
	fc, ok := conn.(fileConn)
	if !ok {
		return fmt.Errorf("a connection of type %T cannot be handed to a session's process", conn)
	}
	file, err := fc.File()
	if err != nil {
		return fmt.Errorf("hand the connection to a session's process: %w", err)
	}
	defer func() { _ = file.Close() }()
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	files, fd := m.files(file)
	cmd := exec.Command(exe, m.Command(fd)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.ExtraFiles = files
	cmd.Env = delve.Environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start a session's process: %w", err)
	}
	done := make(chan struct{})
	s.mu.Lock()
	if s.running == nil {
		s.running = make(map[*exec.Cmd]chan struct{})
	}
	s.running[cmd] = done
	s.mu.Unlock()
	go func() {
		defer close(done)
		var exit *exec.ExitError
		if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
			delve.LogDAPError("wait for a session's process: %v", err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.running, cmd)
	}()
	return nil
}

// endPatience is the time that sessions have to end their programs.
const endPatience = 10 * time.Second

// end ends all sessions in order; the guards see to what does not end in time.
func (s *sessions) end() {
	s.mu.Lock()
	running := make(map[*exec.Cmd]chan struct{}, len(s.running))
	for cmd, done := range s.running {
		running[cmd] = done
		_ = cmd.Process.Signal(syscall.SIGTERM)
	}
	s.mu.Unlock()
	timeout := time.After(endPatience)
	for cmd, done := range running {
		select {
		case <-done:
		case <-timeout:
			_ = cmd.Process.Kill()
		}
	}
}

// Inherited returns the connection that a session's process was started with.
func Inherited(fd int) (net.Conn, error) {
	syscall.CloseOnExec(fd)
	file := os.NewFile(uintptr(fd), "session")
	if file == nil {
		return nil, fmt.Errorf("no connection was inherited as file descriptor %d", fd)
	}
	defer func() { _ = file.Close() }()
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, fmt.Errorf("the inherited connection: %w", err)
	}
	return conn, nil
}
