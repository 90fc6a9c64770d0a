package main

import (
	"errors"
	"fmt"
	"net/rpc"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"
	"github.com/google/go-dap"
)

// place is where a client can sit: a kind of server.
type place struct {
	name  string
	serve func(*work) (*server, error)
	// begin has an editor begin its session with the program, stopped.
	begin func(*editor, *work) error
	rpc   bool // it serves clients of JSON-RPC, too
	// has says that the program is there before any client is.
	has bool
}

func launches(e *editor, w *work) error { return e.launch(w.program) }
func attaches(e *editor, _ *work) error { return e.attach() }

var places = []place{
	{"clew dap", func(w *work) (*server, error) { return w.serve("dap", "--listen=127.0.0.1:0") }, launches, false, false},
	{"clew dap --multi", (*work).multi, launches, true, false},
	{"headless", (*work).headless, attaches, true, true},
	{"clew proxy", (*work).through, attaches, true, true},
}

// seat is one client of a server, which has it alone, but for an editor that has started its program.
type seat struct {
	place  *place
	work   *work
	server *server
	editor *editor
	dlv    *terminal // nil where the editor is the client
	at     known
	ended  bool // its program
}

// What a program does, as far as a client can know. Each is a state that requests are sent in.
const (
	notStarted = "not started"
	running    = "running"
	stopping   = "stopping"
	stopped    = "stopped"
	stepping   = "stepping"
	hasEnded   = "ended"
)

var states = []string{notStarted, running, stopping, stopped, stepping, hasEnded}

// whileRunning are those in which the program runs.
var whileRunning = map[string]bool{running: true, stopping: true, stepping: true}

// sit begins a session; the program is stopped where it can step, unless it is not to be started.
func (p *place) sit(w *work, byDlv bool, state string) (*seat, error) {
	server, err := p.serve(w)
	if err != nil {
		return nil, err
	}
	s := &seat{place: p, work: w, server: server, at: known{thread: 1, parked: 1, frame: 1000, pc: "0x401000"}}
	s.at.file, s.at.line = w.line("// breakpoint")
	if err := s.take(byDlv, state); err != nil {
		s.leave()
		return nil, err
	}
	return s, nil
}

func (s *seat) take(byDlv bool, state string) (err error) {
	if s.editor, err = newEditor("editor", s.server.addr); err != nil {
		return err
	}
	switch {
	case byDlv && s.place.has:
		_ = s.editor.client.Close()
	case state == notStarted:
		err = s.editor.begin()
	default:
		err = s.begin()
	}
	if err != nil || !byDlv {
		return err
	}
	if s.dlv, err = newTerminal("dlv", s.server.addr); err != nil || state == notStarted {
		return err
	}
	if s.place.has {
		return s.toBreakpoint()
	}
	return nil
}

// begin has the editor run the program to where it can step.
func (s *seat) begin() error {
	e := s.editor
	if err := s.place.begin(e, s.work); err != nil {
		return err
	}
	if _, err := e.must("setBreakpoints", breakpoints(s.at.file, s.at.line)); err != nil {
		return err
	}
	if _, err := e.must("continue", map[string]any{"threadId": e.threadID()}); err != nil {
		return err
	}
	if _, err := e.event("stopped"); err != nil {
		return err
	}
	if _, err := e.must("setBreakpoints", breakpoints(s.at.file)); err != nil {
		return err
	}
	return s.look()
}

// look learns what requests name.
func (s *seat) look() error {
	var threads dap.ThreadsResponseBody
	if err := s.editor.body("threads", nil, &threads); err != nil {
		return err
	}
	for _, th := range threads.Threads {
		if strings.Contains(th.Name, "main.parked") {
			s.at.parked = th.Id
		}
	}
	s.at.thread = s.editor.threadID()
	var stack dap.StackTraceResponseBody
	if err := s.editor.body("stackTrace", map[string]any{"threadId": s.at.thread}, &stack); err != nil {
		return err
	}
	if len(stack.StackFrames) == 0 {
		return errors.New("the stack is empty")
	}
	s.at.frame, s.at.pc = stack.StackFrames[0].Id, stack.StackFrames[0].InstructionPointerReference
	return s.editor.body("scopes", map[string]any{"frameId": s.at.frame}, new(dap.ScopesResponseBody))
}

// toBreakpoint is begin for a client of JSON-RPC.
func (s *seat) toBreakpoint() error {
	var made rpc2.CreateBreakpointOut
	if err := s.dlv.call("CreateBreakpoint", rpc2.CreateBreakpointIn{Breakpoint: api.Breakpoint{File: s.at.file, Line: s.at.line}}, &made); err != nil {
		return err
	}
	state, err := s.dlv.command(api.Continue)
	if err != nil {
		return err
	}
	var list rpc2.ListGoroutinesOut
	if err := s.dlv.call("ListGoroutines", rpc2.ListGoroutinesIn{}, &list); err != nil {
		return err
	}
	for _, g := range list.Goroutines {
		if g.UserCurrentLoc.Function.Name() == "main.parked" {
			s.at.parked = int(g.ID)
		}
	}
	if state.SelectedGoroutine != nil {
		s.at.thread = int(state.SelectedGoroutine.ID)
	}
	s.at.pc = fmt.Sprintf("%#x", state.CurrentThread.PC)
	return s.dlv.call("ClearBreakpoint", rpc2.ClearBreakpointIn{Id: made.Breakpoint.ID}, new(rpc2.ClearBreakpointOut))
}

// address is that of the code where the program has stopped.
func (k *known) address() uint64 {
	at, _ := strconv.ParseUint(k.pc, 0, 64) // 0 is an address, too
	return at
}

func (s *seat) leave() {
	if s.dlv != nil {
		_ = s.dlv.client.Close()
	}
	if s.editor != nil {
		_ = s.editor.client.Close()
	}
	if up := s.server.up; up != nil { // Delve's server may wait for its program for ever
		pid := s.pid()
		_ = up.cmd.Process.Kill()
		if <-up.done; pid != 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		s.server.up = nil
	}
	_ = s.server.terminate() // it may have ended with its client
}

// call is a request that is under way.
type call struct {
	of     request
	sent   time.Time
	answer <-chan received // by one of these
	gone   <-chan struct{} // closed when its connection ends
	reply  <-chan returned
	ended  *ending // once it was waited for
}

// returned is the answer to a call of JSON-RPC, with the time at which it came.
type returned struct {
	*rpc.Call
	at time.Time
}

// ending is what became of a request.
type ending struct {
	outcome, text string
	after         time.Duration
}

// send sends a request, and does not wait.
func (s *seat) send(r request) (*call, error) {
	c := &call{of: r, sent: time.Now()}
	if s.dlv != nil {
		reply := make(chan returned, 1)
		call := s.dlv.client.Go("RPCServer."+r.command, r.arguments, new(any), make(chan *rpc.Call, 1))
		go func() { reply <- returned{<-call.Done, time.Now()} }()
		c.reply = reply
		return c, nil
	}
	var err error
	c.answer, err = s.editor.send(r.command, r.arguments)
	c.gone = s.editor.gone
	return c, err
}

// outcomes of a request.
const (
	answered = "answer"
	refused  = "refusal"
	over     = "end" // of the connection
	nothing  = "nothing"
)

// wait waits for what becomes of a request.
func (c *call) wait(limit time.Duration) ending {
	if c.ended != nil {
		return *c.ended
	}
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case m := <-c.answer:
		c.ended = &ending{map[bool]string{true: answered, false: refused}[m.Success], string(m.Bytes()), m.at.Sub(c.sent)}
	case r := <-c.reply:
		c.ended = &ending{answered, "", r.at.Sub(c.sent)}
		if r.Error != nil {
			c.ended.outcome, c.ended.text = over, r.Error.Error()
		}
		if _, ok := errors.AsType[rpc.ServerError](r.Error); ok {
			c.ended.outcome = refused
		}
	case <-c.gone:
		c.ended = &ending{over, "", time.Since(c.sent)}
	case <-late.C:
		return ending{nothing, "", limit}
	}
	return *c.ended
}

// bring brings the program from its stop into a state. Under way are the client's own requests that are not answered yet.
func (s *seat) bring(state string) (underway []*call, err error) {
	send := func(r request) error {
		c, err := s.send(r)
		underway = append(underway, c)
		return err
	}
	resume, parked, halt := s.commands()
	switch state {
	case running, stopping, hasEnded:
		err = send(resume)
	case stepping:
		if s.dlv != nil {
			err = s.dlv.call("Command", api.DebuggerCommand{Name: api.SwitchGoroutine, GoroutineID: int64(s.at.parked)}, new(rpc2.CommandOut))
		}
		err = errors.Join(err, send(parked))
	}
	if err != nil || state == stopped || state == notStarted {
		return underway, err
	}
	if err := s.runs(underway[0]); err != nil {
		return underway, err
	}
	switch state {
	case stopping:
		err = send(halt)
	case hasEnded:
		time.Sleep(50 * time.Millisecond) // Delve does not survive that its program is killed while it steps over a breakpoint to resume it
		err = s.kill()
		s.ended = true
	}
	return underway, err
}

// commands are the requests that resume the program, step a goroutine that is parked, and halt.
func (s *seat) commands() (resume, parked, halt request) {
	if s.dlv == nil {
		thread := map[string]any{"threadId": s.at.thread}
		return request{command: "continue", arguments: thread}, request{command: "next", arguments: map[string]any{"threadId": s.at.parked}}, request{command: "pause", arguments: thread}
	}
	command := func(name string) request {
		return request{command: "Command", arguments: api.DebuggerCommand{Name: name}}
	}
	return command(api.Continue), command(api.Next), command(api.Halt)
}

// runs waits until the program runs.
func (s *seat) runs(resumed *call) error {
	if s.dlv == nil {
		if e := resumed.wait(patience); e.outcome != answered {
			return fmt.Errorf("%s: %s %s", resumed.of.command, e.outcome, e.text)
		}
		return nil
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if now, err := s.dlv.running(); err != nil || now {
			return err
		}
	}
	return errors.New("the program does not run")
}

// kill kills the program, and waits until the server knows it.
func (s *seat) kill() error {
	pid := s.pid()
	if pid == 0 {
		return errors.New("no process is found")
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	if s.dlv == nil {
		_, err := s.editor.event("terminated")
		return err
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if now, _ := s.dlv.running(); !now { // the state of what has ended is an error
			return nil
		}
	}
	return errors.New("the program does not end")
}

// pid is the program's, of which the server, or one before which it stands, is an ancestor.
func (s *seat) pid() int {
	root := s.server
	if root.up != nil {
		root = root.up
	}
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		exe, _ := os.Readlink(filepath.Join(dir, "exe"))
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if exe == s.work.program && descends(pid, root.cmd.Process.Pid) {
			return pid
		}
	}
	return 0
}

// descends says that a process has an ancestor.
func descends(pid, ancestor int) bool {
	for pid > 1 {
		if pid == ancestor {
			return true
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return false
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 2 {
			return false
		}
		pid, _ = strconv.Atoi(fields[1])
	}
	return false
}

// notAtStop are refusals because the program is not at a stop; others do not concern that, as of a goroutine that a new program does not have.
var notAtStop = regexp.MustCompile(`is running|is being|Unable to process|reads the program|has exited`)

// stops brings the program back to a stop, whatever it does. The error says that the session has none any more.
func (s *seat) stops() error {
	_, _, halt := s.commands()
	look := request{command: "stackTrace", arguments: map[string]any{"threadId": s.at.thread}}
	if s.dlv != nil {
		look = request{command: "Stacktrace", arguments: rpc2.StacktraceIn{Id: int64(s.at.thread), Depth: 3}}
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		for _, r := range []request{look, halt} {
			c, err := s.send(r)
			if err != nil {
				return err
			}
			switch e := c.wait(patience); {
			case e.outcome == over || e.outcome == nothing:
				return fmt.Errorf("%s: %s", r.command, e.outcome)
			case r.command == look.command && !notAtStop.MatchString(e.text):
				if s.dlv == nil {
					s.editor.drain()
				}
				return nil
			case strings.Contains(e.text, "has exited"):
				return errors.New(e.text)
			}
		}
	}
	return errors.New("the program does not stop")
}
