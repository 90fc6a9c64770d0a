package main

import (
	"encoding/json"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/dapwire/dapwiretest"
)

// patience is the time after which a client is taken to hang.
const patience = 10 * time.Second

// received is a message with the time at which it came.
type received struct {
	*dapwire.Message
	at time.Time
}

// editor is a client of the Debug Adapter Protocol.
type editor struct {
	name   string
	client *dapwiretest.Client

	mu      sync.Mutex
	answers map[int64]chan received
	events  chan received
	gone    chan struct{} // closed when the connection has ended
	stopped bool          // as it was told
	thread  int
	wrong   []string
}

func newEditor(name, addr string) (*editor, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	e := &editor{name: name, client: dapwiretest.NewClient(conn), answers: make(map[int64]chan received), events: make(chan received, 4096), gone: make(chan struct{})}
	go e.read()
	return e, nil
}

func (e *editor) read() {
	defer close(e.gone)
	defer close(e.events)
	for {
		m, err := e.client.Read()
		if err != nil {
			return
		}
		got := received{m, time.Now()}
		if m.Type == dapwire.TypeResponse {
			e.mu.Lock()
			answer := e.answers[m.RequestSeq]
			delete(e.answers, m.RequestSeq)
			e.mu.Unlock()
			if answer != nil {
				answer <- got
			}
			continue
		}
		e.follow(m)
		switch m.Event {
		case "continued", "stopped", "breakpoint", "invalidated", "terminated", "exited", "initialized":
			select {
			case e.events <- got:
			default: // nobody waits for so many
			}
		}
	}
}

// follow checks that a stop comes only to an editor that believes the program running.
func (e *editor) follow(m *dapwire.Message) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch m.Event {
	case "continued", "initialized":
		e.stopped = false
	case "stopped":
		var body dap.StoppedEventBody
		_ = m.Decode("body", &body)
		if e.stopped {
			e.wrong = append(e.wrong, e.name+": a stop follows a stop: "+string(m.Bytes()))
		}
		if !body.AllThreadsStopped || body.ThreadId == 0 && body.Reason != "entry" && body.Reason != "pause" {
			e.wrong = append(e.wrong, e.name+": a stop without its threads: "+string(m.Bytes()))
		}
		e.stopped, e.thread = true, body.ThreadId
	case "breakpoint":
		var body dap.BreakpointEventBody
		_ = m.Decode("body", &body)
		if body.Breakpoint.Source == nil || body.Breakpoint.Source.Path == "" || body.Breakpoint.Line == 0 {
			e.wrong = append(e.wrong, e.name+": a breakpoint without its place: "+string(m.Bytes()))
		}
	}
}

// send sends a request.
func (e *editor) send(command string, arguments any) (<-chan received, error) {
	answer := make(chan received, 1)
	e.mu.Lock()
	defer e.mu.Unlock()
	if command == "continue" || command == "next" || command == "stepIn" || command == "stepOut" {
		e.stopped = false
	}
	seq, err := e.client.Send(command, arguments)
	e.answers[seq] = answer // read finds it behind the lock
	return answer, err
}

// ask sends a request and waits for its answer.
func (e *editor) ask(command string, arguments any) (received, error) {
	answer, err := e.send(command, arguments)
	if err != nil {
		return received{}, err
	}
	select {
	case m := <-answer:
		return m, nil
	case <-time.After(patience):
		return received{}, fmt.Errorf("%s: %s is not answered", e.name, command)
	}
}

// must is ask for a request that has to succeed.
func (e *editor) must(command string, arguments any) (received, error) {
	m, err := e.ask(command, arguments)
	if err == nil && !m.Success {
		return m, fmt.Errorf("%s: %s fails: %s", e.name, command, m.Bytes())
	}
	return m, err
}

// body is must, and decodes what the answer says.
func (e *editor) body(command string, arguments, out any) error {
	m, err := e.must(command, arguments)
	if err == nil {
		err = m.Decode("body", out)
	}
	return err
}

// event waits for an event, and skips others.
func (e *editor) event(name string) (received, error) {
	deadline := time.After(patience)
	for {
		select {
		case m, ok := <-e.events:
			if !ok {
				return m, fmt.Errorf("%s: the connection ends before %s", e.name, name)
			}
			if m.Event == name {
				return m, nil
			}
		case <-deadline:
			return received{}, fmt.Errorf("%s: no event %s", e.name, name)
		}
	}
}

// drain drops the events received so far.
func (e *editor) drain() {
	for len(e.events) > 0 {
		<-e.events
	}
}

// begin initializes the session. attach joins the program, stopped.
func (e *editor) begin() error {
	_, err := e.must("initialize", map[string]any{
		"adapterID": "go", "pathFormat": "path", "linesStartAt1": true, "columnsStartAt1": true, "supportsInvalidatedEvent": true, "clientName": e.name,
	})
	return err
}

func (e *editor) attach() error {
	if err := e.begin(); err != nil {
		return err
	}
	if _, err := e.must("attach", map[string]any{"mode": "remote", "stopOnEntry": true}); err != nil {
		return err
	}
	if _, err := e.must("configurationDone", nil); err != nil {
		return err
	}
	_, err := e.event("stopped") // at the entry; what waits for a stop means a later one
	return err
}

// launch starts the program, stopped.
func (e *editor) launch(program string) error {
	if err := e.begin(); err != nil {
		return err
	}
	for _, r := range []struct {
		command   string
		arguments any
	}{{"launch", map[string]any{"mode": "exec", "program": program, "stopOnEntry": true}}, {"configurationDone", nil}} {
		if _, err := e.must(r.command, r.arguments); err != nil {
			return err
		}
	}
	_, err := e.event("stopped")
	return err
}

// threadID is the thread that stopped last.
func (e *editor) threadID() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return max(e.thread, 1)
}

// breakpoints are the arguments of setBreakpoints.
func breakpoints(path string, lines ...int) any {
	list := []any{}
	for _, line := range lines {
		list = append(list, map[string]any{"line": line})
	}
	return map[string]any{"source": map[string]any{"path": path}, "breakpoints": list}
}

// verified counts the breakpoints of an answer that are set.
func verified(m received) (n int) {
	var body struct{ Breakpoints []dap.Breakpoint }
	raw, _ := m.Get("body")
	_ = json.Unmarshal(raw, &body)
	for _, b := range body.Breakpoints {
		if b.Verified {
			n++
		}
	}
	return n
}
