package scripts

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/dapwire/dapwiretest"
)

// debugger is a server of the Debug Adapter Protocol.
type debugger struct {
	name string
	path string
	args []string // "" for standard input and output
	// tcp says that it prints an address to connect to.
	tcp bool
}

// patience bounds a script.
const patience = 30 * time.Second

// session is a client's connection to one.
type session struct {
	*dapwiretest.Client
	end func() // kills the debugger and what it has started
}

// start starts a debugger and connects to it.
func (d *debugger) start() (*session, error) {
	cmd := exec.Command(d.path, d.args...)
	if d.tcp {
		client, server, err := dapwiretest.Start(cmd)
		if err != nil {
			return nil, err
		}
		return &session{client, server.Kill}, nil
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	client, err := dapwiretest.StartPipe(cmd)
	if err != nil {
		return nil, err
	}
	return &session{client, func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	}}, nil
}

// ask sends a request and returns the answer, whose refusal is an error.
func (s *session) ask(command string, arguments any) (*dapwire.Message, error) {
	m, err := s.Request(command, arguments)
	if err == nil && !m.Success {
		err = fmt.Errorf("%s: %s", command, m.Text("message"))
	}
	return m, err
}

var errEnded = errors.New("ran to its end")

// stopped waits for the next stop, and returns its thread.
func (s *session) stopped() (thread int, err error) {
	thread, reason, err := s.Stopped()
	if err == nil && reason == "terminated" {
		err = errEnded
	}
	return thread, err
}

// frame is one of a stack, as far as it counts here.
type frame struct {
	ID     int
	Name   string
	Line   int
	Source struct{ Path, Name string }
}

// top is the innermost frame of a thread.
func (s *session) top(thread int) (f frame, err error) {
	m, err := s.ask("stackTrace", map[string]any{"threadId": thread, "startFrame": 0, "levels": 1})
	if err != nil {
		return f, err
	}
	var body struct{ StackFrames []frame }
	if err := m.Decode("body", &body); err != nil || len(body.StackFrames) == 0 {
		return f, errors.Join(err, errors.New("no frame"))
	}
	return body.StackFrames[0], nil
}

// place is where a thread stands.
func (s *session) place(thread int) (file string, line int, err error) {
	f, err := s.top(thread)
	if err != nil {
		return "", 0, err
	}
	if f.Source.Path == "" {
		return f.Name, 0, nil
	}
	return filepath.Base(f.Source.Path), f.Line, nil
}
