package serve

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/delvelog"
)

// Multi is how a server makes a process for each session: by calling this
// executable again.
type Multi struct {
	// Command returns the arguments for a process that inherits the client's connection,
	// and the socket for clients that join, as these file descriptors.
	Command func(session, joins int) []string
	// Log is inherited as file descriptor LogFD, if it is not nil.
	Log   *os.File
	LogFD int
}

// firstFD is the first file descriptor that can be inherited.
const firstFD = 3

// files returns what a session's process inherits besides the log, and the file descriptors that
// these files have there.
func (m *Multi) files(own ...*os.File) (files []*os.File, fds []int) {
	if m.Log != nil && m.LogFD >= firstFD {
		files = make([]*os.File, m.LogFD-firstFD+1)
		files[m.LogFD-firstFD] = m.Log
	}
	for _, f := range own {
		i := slices.Index(files, nil)
		if i < 0 {
			i = len(files)
			files = append(files, nil)
		}
		files[i] = f
		fds = append(fds, firstFD+i)
	}
	return files, fds
}

// runMulti serves every editor in a process of its own.
func (s *Server) runMulti(interrupted <-chan os.Signal) error {
	var sessions sessions
	defer sessions.end()
	for {
		conn, err := s.accept(interrupted)
		if err != nil || conn == nil {
			return err
		}
		go func() {
			defer func() { _ = conn.Close() }() // the session's process has its own
			if err := sessions.serve(s.Multi, conn); err != nil && !errors.Is(err, io.EOF) {
				delvelog.DAPError("%v", err)
			}
		}()
	}
}

// maxSessions bounds the sessions at a time: each is a process with a debugger, and any client may ask for one.
var maxSessions = 64

var errFull = fmt.Errorf("this server has %d sessions already; end one, or start another server", maxSessions)

// refusePatience is the time that a client has to send the request by which it learns that.
const refusePatience = 5 * time.Second

// sessions are the processes that run.
type sessions struct {
	mu      sync.Mutex
	running []*process // those that have a program last, in the order in which they have got it
	over    bool       // no more are started
}

// process is one session's.
type process struct {
	cmd     *exec.Cmd
	joins   *net.UnixConn
	program bool          // it has one
	done    chan struct{} // closed when it has ended
}

// fileConn is a connection that a child process can inherit.
type fileConn interface{ File() (*os.File, error) }

// serve serves an editor by a process of its own, and has a client of JSON-RPC join one.
func (s *sessions) serve(m *Multi, conn net.Conn) error {
	first, err := firstByte(conn)
	if err != nil {
		return err
	}
	fc, ok := conn.(fileConn)
	if !ok {
		return fmt.Errorf("a connection of type %T cannot be handed to a session's process", conn)
	}
	file, err := fc.File()
	if err != nil {
		return fmt.Errorf("hand the connection to a session's process: %w", err)
	}
	defer func() { _ = file.Close() }()
	if first != '{' {
		err := s.start(m, file)
		if errors.Is(err, errFull) {
			_ = conn.SetDeadline(time.Now().Add(refusePatience))
			wire.Refuse(conn, maxRefused, err)
		}
		return err
	}
	if p := s.joinable(); p != nil {
		return hand(p.joins, file)
	}
	refuse(conn)
	return nil
}

// joinPatience is the time for a session's process to say that it has a program, which its editor may know already.
const joinPatience = 500 * time.Millisecond

// joinable is newest, and waits where a session may be about to get its program.
func (s *sessions) joinable() *process {
	for end := time.Now().Add(joinPatience); ; time.Sleep(time.Millisecond) {
		p := s.newest()
		s.mu.Lock()
		none := len(s.running) == 0
		s.mu.Unlock()
		if p != nil || none || time.Now().After(end) {
			return p
		}
	}
}

// newest returns the process that was the last to get a program, nil if none has one.
func (s *sessions) newest() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.running); n > 0 && s.running[n-1].program {
		return s.running[n-1]
	}
	return nil
}

// start starts a session's process. It leads a process group of its own, so that
// Ctrl-C at the server's terminal reaches it through the server only, which lets
// it end its program.
func (s *sessions) start(m *Multi, conn *os.File) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	ours, theirs, err := joinPair()
	if err != nil {
		return err
	}
	defer func() { _ = theirs.Close() }()
	files, fds := m.files(conn, theirs)
	cmd := exec.Command(exe, m.Command(fds[0], fds[1])...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.ExtraFiles = files
	cmd.Env = delve.Environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over:
		_ = ours.Close()
		return nil
	case len(s.running) >= maxSessions:
		_ = ours.Close()
		return errFull
	}
	if err := cmd.Start(); err != nil {
		_ = ours.Close()
		return fmt.Errorf("start a session's process: %w", err)
	}
	p := &process{cmd: cmd, joins: ours, done: make(chan struct{})}
	s.running = slices.Insert(s.running, 0, p)
	go s.watch(p)
	return nil
}

// watch learns when a session has a program, and when it has ended.
func (s *sessions) watch(p *process) {
	go func() {
		for {
			if _, err := p.joins.Read(make([]byte, 1)); err != nil {
				return
			}
			s.move(p, func(all []*process) []*process {
				p.program = true
				return append(all, p)
			})
		}
	}()
	defer close(p.done)
	if err := p.cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		delvelog.DAPError("wait for a session's process: %v", err)
	}
	s.move(p, func(all []*process) []*process { return all })
	_ = p.joins.Close()
}

// move takes a process that runs from the list; again may put it there again.
func (s *sessions) move(p *process, again func([]*process) []*process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.running, p); i >= 0 {
		s.running = again(slices.Delete(s.running, i, i+1))
	}
}

// endPatience is the time that sessions have to end their programs.
const endPatience = 10 * time.Second

// end ends all sessions in order; the guards see to what does not end in time.
func (s *sessions) end() {
	s.mu.Lock()
	s.over = true
	running := slices.Clone(s.running)
	for _, p := range running {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
	}
	s.mu.Unlock()
	timeout := time.After(endPatience)
	for _, p := range running {
		select {
		case <-p.done:
		case <-timeout:
			_ = p.cmd.Process.Kill()
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
