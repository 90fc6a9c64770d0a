package dap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/session"
)

// sharing is this client's part in a session that it may share with others: each of its requests
// asks the session's owner before it goes on.
type sharing struct {
	owner   *session.Session
	client  *session.Client
	wire    *wire.Bridge
	state   *debuggee.State
	config  *debuggee.Config
	program *debuggee.Program
	alias   *debuggee.ThreadAlias
	caps    *clientCapabilities
	// several returns the address of a server that goes on when a client leaves, "" for none. It may take its time.
	several func() string
	// multi is that address, once the client has attached to the server's program.
	multi string

	watching  sync.Once    // it is told of breakpoints that are placed later
	attached  atomic.Bool  // it has a program to be told of
	last      atomic.Int64 // the thread that stopped last
	mu        sync.Mutex
	run       *session.Run                   // this client's last
	runs      int64                          // the request that has begun it
	restarted func(started bool)             // ends a restart; nil for none
	have      map[string]map[int]*breakpoint // this client's breakpoints, by list and ID
}

// handler handles one request.
type handler func(context.Context, *dapwire.Message) error

// admission lets a request go on, which handle does, or refuses it.
type admission func(ctx context.Context, m *dapwire.Message, handle func() error) error

// admissions are those of requests that do not just read the stopped program.
func (s *sharing) admissions() map[string]admission {
	free := func(_ context.Context, _ *dapwire.Message, handle func() error) error { return handle() }
	change := s.whileStopped(s.client.Change)
	out := map[string]admission{
		"attach": s.attach, "restart": s.restart, "disconnect": s.disconnect, "pause": s.pause, "configurationDone": s.configured,
		"evaluate": s.evaluate, "setVariable": change, "setExpression": change, "goto": change, "restartFrame": change,
	}
	for _, command := range []string{"initialize", "launch", "terminate", "cancel", "clew/plugins"} {
		out[command] = free
	}
	for _, command := range []string{"continue", "reverseContinue", "next", "stepIn", "stepOut", "stepBack"} {
		out[command] = s.resume
	}
	for command := range breakpointLists {
		out[command] = s.setBreakpoints
	}
	return out
}

// until calls done with Delve's answer to a request, nil where Delve was not asked.
func (s *sharing) until(m *dapwire.Message, handle func() error, done func(answer *dapwire.Message)) error {
	s.wire.Up.Hook(m.Seq, done)
	defer s.wire.Up.Unhook(m.Seq)
	return handle()
}

// whileStopped admits a request while the program stands still, between enter and what that returns: Use
// for one that reads the program, Change for one that changes it alone.
func (s *sharing) whileStopped(enter func(context.Context, string) (func(), error)) admission {
	return func(ctx context.Context, m *dapwire.Message, handle func() error) error {
		s.client.AwaitHalt(ctx)
		done, err := enter(ctx, m.Command)
		if err != nil {
			return s.busy(m, err)
		}
		return s.until(m, handle, func(*dapwire.Message) { done() })
	}
}

// busy refuses a request in Delve's words, where Delve has some.
func (s *sharing) busy(m *dapwire.Message, err error) error {
	busy, ok := errors.AsType[*session.BusyError](err)
	if !ok {
		return err
	}
	details := busy.Error()
	if busy.State == session.Running || busy.State == session.Stepping {
		if m.Command == "threads" { // which clients need before they can pause
			s.wire.Client.Respond(m, dap.ThreadsResponseBody{Threads: []dap.Thread{{Id: -1, Name: "Current"}}})
			return nil
		}
		if m.Command == "completions" {
			s.wire.Client.Respond(m, dap.CompletionsResponseBody{Targets: []dap.CompletionItem{}})
			return nil
		}
		if m.Command == "setDataBreakpoints" {
			return &wire.Refusal{ID: internals.DataBreakpointsID, Message: internals.DataBreakpointsText, Details: internals.DataBreakpointsText, Quiet: true}
		}
		return refuseRunning(m)
	}
	return &wire.Refusal{ID: internals.RunningID, Message: fmt.Sprintf("Unable to process `%s`", m.Command), Details: details}
}

// refuseRunning is Delve's refusal of a request while the program runs.
func refuseRunning(m *dapwire.Message) error {
	return &wire.Refusal{ID: internals.RunningID, Message: fmt.Sprintf("Unable to process `%s`", m.Command), Details: internals.RunningText, Quiet: true}
}

// resume begins a run of this client's. While its last one is under way Delve is not asked: it may have stopped the program already,
// and would let it run again unseen.
func (s *sharing) resume(ctx context.Context, m *dapwire.Message, handle func() error) error {
	s.client.AwaitHalt(ctx)
	_, step := stepCommands[m.Command]
	run, err := s.begin(ctx, m, step || m.Command == "stepBack", s.halt)
	if err != nil {
		return err
	}
	return s.until(m, handle, func(answer *dapwire.Message) {
		if answer != nil && answer.Success {
			run.Began()
		} else {
			run.Refused()
		}
	})
}

// begin enters the state in which the program runs. A refusal names the client that has
// resumed it.
func (s *sharing) begin(ctx context.Context, m *dapwire.Message, step bool, door func(context.Context)) (*session.Run, error) {
	run, err := s.client.Resume(ctx, m.Command, step, door)
	if state, own := s.client.State(); err != nil && own && (state == session.Running || state == session.Stepping) {
		return nil, refuseRunning(m)
	}
	if err != nil {
		return nil, &wire.Refusal{ID: internals.RunningID, Message: fmt.Sprintf("Unable to process `%s`", m.Command), Details: err.Error()}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run, s.runs = run, m.Seq
	return run, nil
}

// current is this client's last run, nil before the first.
func (s *sharing) current() *session.Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run
}

// halt is the door of this client's runs: Delve's session goes on after every other halt.
func (s *sharing) halt(ctx context.Context) {
	defer s.owner.Announce(ctx)()
	_, _ = s.wire.Up.Inject(ctx, &dap.PauseRequest{Request: dap.Request{Command: "pause"}}) // whether it stops is seen at its stop
}

// configured resumes the program, unless the client wants it stopped. Where another client has
// resumed it meanwhile, it runs as this one wants.
func (s *sharing) configured(ctx context.Context, m *dapwire.Message, handle func() error) error {
	if s.config.Get().StopOnEntry {
		return s.whileStopped(s.client.Use)(ctx, m, handle)
	}
	if state, own := s.client.State(); !own && (state == session.Running || state == session.Stepping) {
		s.wire.Client.Respond(m, nil)
		return nil
	}
	return s.resume(ctx, m, handle)
}

// evaluate has an expression evaluated. A call lets the program run.
func (s *sharing) evaluate(ctx context.Context, m *dapwire.Message, handle func() error) error {
	var args dap.EvaluateArguments
	if m.Decode("arguments", &args) != nil || !internals.Call.MatchString(args.Expression) {
		return s.whileStopped(s.client.Use)(ctx, m, handle)
	}
	s.client.AwaitHalt(ctx)
	run, err := s.begin(ctx, m, false, s.owner.Nudge) // Delve's session reads no pause meanwhile
	if err != nil {
		return err
	}
	run.KeepWhole()
	return s.until(m, handle, func(answer *dapwire.Message) {
		if answer != nil && answer.Success {
			run.Began()
			run.Stopped(session.Stop{Reason: "function call", Thread: s.last.Load()})
		} else {
			run.Refused()
		}
	})
}

// pause halts whatever runs.
func (s *sharing) pause(ctx context.Context, m *dapwire.Message, pass func() error) error {
	handle := s.answersPause(m, pass)
	state, own := s.client.State()
	if state != session.Running && state != session.Stepping {
		return s.whileStopped(s.client.Use)(ctx, m, handle)
	}
	if own {
		answered := s.current().Ask()
		return s.halting(ctx, m, handle, answered)
	}
	s.wire.Client.Respond(m, nil) // before the event
	go func() {
		if err := s.client.Halt(s.wire.Context()); err != nil && s.wire.Context().Err() == nil {
			s.wire.Client.Warn(fmt.Sprintf("the program does not stop: %v", err))
		}
	}()
	return nil
}

// halting passes on a request for which Delve's session halts the program.
func (s *sharing) halting(ctx context.Context, m *dapwire.Message, handle func() error, answered func()) error {
	over := s.owner.Announce(ctx)
	return s.until(m, handle, func(*dapwire.Message) {
		over()
		answered()
	})
}

// attach joins a program, which Delve halts for that.
func (s *sharing) attach(ctx context.Context, m *dapwire.Message, handle func() error) error {
	if err := s.client.Halt(ctx); err != nil {
		return err
	}
	var args debuggee.LaunchArguments
	if _ = m.Decode("arguments", &args); args.Mode == "remote" {
		s.multi = s.several()
	}
	return s.whileStopped(s.client.Change)(ctx, m, handle)
}

// restart starts the program again, while no other client asks for anything.
func (s *sharing) restart(ctx context.Context, m *dapwire.Message, handle func() error) error {
	done, err := s.client.Restart(ctx)
	if err != nil {
		return s.busy(m, err)
	}
	s.mu.Lock()
	s.restarted = done
	s.mu.Unlock()
	return s.until(m, handle, func(answer *dapwire.Message) {
		if answer == nil || !answer.Success {
			s.endRestart(false) // else Delve has only taken the request
		}
	})
}

func (s *sharing) endRestart(started bool) {
	s.mu.Lock()
	done := s.restarted
	s.restarted = nil
	s.mu.Unlock()
	if done != nil {
		done(started)
	}
}

// others says that the session is not this client's alone: others are there, or one has left the program running.
func (s *sharing) others() bool {
	state, own := s.client.State()
	return !s.client.Alone() || !own && (state == session.Running || state == session.Stepping)
}

// disconnect ends the session, or leaves one that goes on. Delve would wait there for a
// program that another client has resumed, and forget its own.
func (s *sharing) disconnect(ctx context.Context, m *dapwire.Message, handle func() error) error {
	var args dap.DisconnectArguments
	_ = m.Decode("arguments", &args)
	if leaves := s.multi != "" && !args.TerminateDebuggee; !leaves || !s.attached.Load() {
		if !leaves && s.others() {
			if err := s.owner.End(ctx, s.client, "disconnect"); err != nil {
				s.wire.Log("disconnect: %v", err)
			}
		}
		return s.halting(ctx, m, handle, func() {})
	}
	if done, err := s.client.Use(ctx, m.Command); err == nil {
		return s.until(m, handle, func(*dapwire.Message) { done() })
	}
	s.wire.Client.Console(fmt.Sprintf("Closing client session, but leaving multi-client DAP server at %s with debuggee running", s.multi))
	s.wire.Client.Respond(m, nil)
	s.wire.Client.Event(&dap.TerminatedEvent{Event: dap.Event{Event: "terminated"}})
	s.wire.Over()
	s.wire.End()
	return nil
}

// leavePatience bounds the wait for halts of a run that has ended.
const leavePatience = 2 * time.Second

// left keeps Delve's session while its run goes on: it is the door to halt it by. A session that is this client's
// ends for clients that have joined it.
func (s *sharing) left() {
	if s.attached.Load() && s.multi == "" && s.others() {
		_ = s.owner.End(context.Background(), s.client, "its connection's end") // it ends already, or the program is killed
	}
	if run := s.current(); run != nil && s.multi != "" {
		select {
		case <-run.Over():
			ctx, cancel := context.WithTimeout(context.Background(), leavePatience)
			defer cancel()
			_ = s.owner.WaitStopped(ctx) // for the door to be closed
		case <-s.wire.Up.Gone():
			run.Refused()
		}
	}
	s.endRestart(false)
	s.client.Leave()
}

// stopped tells the others of a stop. One on entry is this client's alone.
func (s *sharing) stopped(m *dapwire.Message) {
	var body dap.StoppedEventBody
	if m.Decode("body", &body) != nil {
		return
	}
	s.last.Store(int64(body.ThreadId))
	if body.Reason == "manual" { // Delve's own word, where a call that it evaluates was halted
		body.Reason = "pause"
	}
	stop := session.Stop{
		Reason: body.Reason, Description: body.Description, Text: body.Text, Thread: int64(body.ThreadId), Breakpoints: body.HitBreakpointIds,
	}
	if run := s.current(); run != nil && !run.Ended() {
		run.Stopped(stop)
	} else if body.Reason != "entry" {
		s.client.Tell(session.Event{Kind: session.StoppedAt, Stop: &stop})
	}
}

// exited tells the others that the program has ended. The event terminated without a run is
// about this client alone.
func (s *sharing) exited(m *dapwire.Message) {
	var body struct{ ExitCode int }
	if raw, ok := m.Get("body"); ok {
		_ = json.Unmarshal(raw, &body)
	}
	if run := s.current(); run != nil {
		run.Exited(body.ExitCode)
	}
	s.endRestart(false)
}
