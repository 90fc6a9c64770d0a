package scripts

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
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
	cmd    *exec.Cmd
	to     io.WriteCloser
	from   *dapwire.Reader
	seq    int64
	events []*dapwire.Message // that came before an answer
}

// start starts a debugger and connects to it.
func (d *debugger) start() (s *session, err error) {
	s = &session{cmd: exec.Command(d.path, d.args...)}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if s.to, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	if !d.tcp {
		s.from = dapwire.NewReader(out, 0)
		return s, nil
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return s, fmt.Errorf("%s: no address: %w", d.name, err)
	}
	conn, err := net.Dial("tcp", strings.TrimSpace(line[strings.LastIndex(line, " ")+1:]))
	if err != nil {
		return s, err
	}
	s.to, s.from = conn, dapwire.NewReader(conn, 0)
	return s, nil
}

// end kills the debugger and what it has started.
func (s *session) end() {
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
	_ = s.cmd.Wait()
}

// send sends a request.
func (s *session) send(command string, arguments any) error {
	m, err := dapwiretest.Request(command, arguments)
	if err != nil {
		return err
	}
	s.seq++
	m.SetSeq(s.seq)
	return dapwire.Write(s.to, m.Bytes())
}

func (s *session) read() (*dapwire.Message, error) {
	content, err := s.from.Read()
	if err != nil {
		return nil, err
	}
	return dapwire.Parse(content)
}

// ask sends a request and returns the answer.
func (s *session) ask(command string, arguments any) (*dapwire.Message, error) {
	if err := s.send(command, arguments); err != nil {
		return nil, err
	}
	for {
		m, err := s.read()
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", command, err)
		case m.Type == dapwire.TypeEvent:
			s.events = append(s.events, m)
		case m.Type == dapwire.TypeResponse && m.RequestSeq == s.seq:
			if !m.Success {
				return m, fmt.Errorf("%s: %s", command, m.Text("message"))
			}
			return m, nil
		}
	}
}

// event waits for one of the events.
func (s *session) event(names ...string) (*dapwire.Message, error) {
	for {
		var m *dapwire.Message
		if len(s.events) > 0 {
			m, s.events = s.events[0], s.events[1:]
		} else {
			var err error
			if m, err = s.read(); err != nil {
				return nil, err
			}
		}
		for _, name := range names {
			if m.Type == dapwire.TypeEvent && m.Event == name {
				return m, nil
			}
		}
	}
}

var errEnded = errors.New("ran to its end")

// stopped waits for the next stop, and returns its thread.
func (s *session) stopped() (thread int, err error) {
	m, err := s.event("stopped", "terminated")
	if err != nil {
		return 0, err
	}
	if m.Event == "terminated" {
		return 0, errEnded
	}
	var body struct{ ThreadID int }
	err = m.Decode("body", &body)
	return body.ThreadID, err
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
