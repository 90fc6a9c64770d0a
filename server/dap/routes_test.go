package dap

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/delve/steps"
	"github.com/clewdbg/clew/server/session"
	"github.com/clewdbg/clew/server/stepping"
	"github.com/clewdbg/clew/server/stop"
)

// routed is a [wire.Handler] of a few requests.
type routed struct {
	up     *wire.Link
	routes map[string]handler
}

func (r *routed) Request(ctx context.Context, m *dapwire.Message) error {
	if h := r.routes[m.Command]; h != nil {
		return h(ctx, m)
	}
	r.up.Forward(m, nil)
	return nil
}

func (r *routed) Event(*dapwire.Message)                     {}
func (r *routed) Cancel(int64) bool                          { return false }
func (r *routed) Lost()                                      {}
func (r *routed) Failed(m *dapwire.Message) *dapwire.Message { return m }
func (r *routed) Left()                                      {}

// newRoutes is [newPair] with some requests' handlers instead of a proxy.
func newRoutes(t *testing.T, build func(*wire.Bridge) map[string]handler) *pair {
	t.Helper()
	client, ours := net.Pipe()
	peer, theirs := net.Pipe()
	w := wire.NewBridge(wire.Options{Client: ours, Upstream: theirs, AnswerHead: internals.ResponseHead, Log: t.Logf})
	return connect(t, client, peer, func() { w.Run(&routed{w.Up, build(w)}) })
}

// ask sends a request of the client's, and returns what the client gets next.
func (p *pair) ask(request string) string {
	p.t.Helper()
	p.write(p.client, request)
	got, err := p.fromProxy.Read()
	if err != nil {
		p.t.Fatal(err)
	}
	return string(got)
}

// relay sends a request, expects what becomes of it, answers, and returns the client's
// answer.
func (p *pair) relay(request, passed, answer string) string {
	p.t.Helper()
	p.write(p.client, request)
	p.expect(p.toPeer, passed)
	p.write(p.peer, answer)
	got, err := p.fromProxy.Read()
	if err != nil {
		p.t.Fatal(err)
	}
	return string(got)
}

// fakeTarget is a program that is not there.
type fakeTarget struct {
	debuggee.Target
	live, launched bool
	wrote          int
	armed          []stepping.Temporary
	ended          int
	armErr         error
	selected       uint64
}

func (f *fakeTarget) Live() bool                           { return f.live }
func (f *fakeTarget) Launched() bool                       { return f.launched }
func (f *fakeTarget) Pid() int                             { return 4711 }
func (f *fakeTarget) Wrote()                               { f.wrote++ }
func (f *fakeTarget) EndStep() error                       { f.ended++; return nil }
func (f *fakeTarget) Selected() (reading.Selection, error) { return reading.Selection{Thread: 7}, nil }

func (f *fakeTarget) Arm(d *stepping.Decision) (bool, error) {
	f.armed = append(f.armed, d.Caller)
	return true, f.armErr
}

func (f *fakeTarget) SelectThread(tid uint64) error {
	f.selected = tid
	return nil
}

// fakeGuard notes what it is told.
type fakeGuard struct{ told []string }

func (g *fakeGuard) note(format string, args ...any) error {
	g.told = append(g.told, fmt.Sprintf(format, args...))
	return errors.New("the guard is gone") // is logged, and stops nothing
}

func (g *fakeGuard) Restart() error       { return g.note("restart") }
func (g *fakeGuard) Attach(pid int) error { return g.note("attach %d", pid) }

// failing is a program that cannot be worked with.
func failing(target debuggee.Target, err error) *debuggee.Program {
	stops := stop.New(stop.Options{Now: func() (stop.Moment, error) { return stop.Moment{}, err }})
	stops.Watch(target, nil)
	return &debuggee.Program{Stops: stops}
}

// TestResume: the program runs from the request on, and stands where it stood if Delve
// refuses.
func TestResume(t *testing.T) {
	st, alias, target := new(debuggee.State), new(debuggee.ThreadAlias), &fakeTarget{live: true}
	p := newRoutes(t, func(w *wire.Bridge) map[string]handler {
		r := &running{tell: func(session.Event) {}, up: w.Up, state: st, alias: alias, target: func() debuggee.Target { return target }}
		return map[string]handler{"continue": r.onResume, "writeMemory": r.onWrite}
	})
	st.Stops()
	at, _ := st.At()
	for _, success := range []string{"false", "true"} {
		p.write(p.client, `{"seq":1,"type":"request","command":"continue","arguments":{"threadId":1073741831}}`)
		p.expect(p.toPeer, `{"seq":1,"type":"request","command":"continue","arguments":{"threadId":0}}`)
		if _, stopped := st.At(); stopped {
			t.Error("the program stands while Delve lets it run")
		}
		p.write(p.peer, `{"seq":1,"type":"response","request_seq":1,"success":`+success+`,"command":"continue"}`)
		if _, err := p.fromProxy.Read(); err != nil {
			t.Fatal(err)
		}
		if now, stopped := st.At(); stopped != (success == "false") || now != at {
			t.Errorf("after success %s: %+v, %v", success, now, stopped)
		}
	}
	if alias.ID.Load() != debuggee.FirstID+7 {
		t.Errorf("Delve's thread 0 is %d", alias.ID.Load())
	}
	p.relay(`{"seq":2,"type":"request","command":"writeMemory"}`, `{"seq":2,"type":"request","command":"writeMemory"}`,
		`{"seq":1,"type":"response","request_seq":2,"success":false,"command":"writeMemory"}`)
	if now, _ := st.At(); now.Writes != at.Writes+1 || target.wrote != 1 {
		t.Errorf("%+v; the target is told %d times", now, target.wrote)
	}
}

// newStepper plays a stepper that cannot read the program.
func newStepper(t *testing.T, target *fakeTarget) (*stepper, *pair) {
	s := &stepper{program: failing(target, stop.ErrPatience)}
	st := new(debuggee.State)
	st.Stops()
	return s, newRoutes(t, func(w *wire.Bridge) map[string]handler {
		s.wire = w
		s.run = &running{tell: func(session.Event) {}, up: w.Up, state: st, alias: new(debuggee.ThreadAlias), target: s.program.Target}
		perform := func(d stepping.Decision) handler {
			return func(_ context.Context, m *dapwire.Message) error { return s.perform(m, target, &d, 3) }
		}
		caller := stepping.Temporary{PC: 0x42}
		return map[string]handler{
			"next": s.onStep, "stepBack": s.onStep,
			"delegate": perform(stepping.Decision{Action: stepping.Delegate}),
			"assist":   perform(stepping.Decision{Action: stepping.Assist, Caller: caller}),
			"return":   perform(stepping.Decision{Action: stepping.Return, Caller: caller}),
			"stepIn":   perform(stepping.Decision{Action: stepping.Delegate, Into: &stepping.Into{Call: 0x41}}),
			"stepOut":  perform(stepping.Decision{Action: stepping.Refuse, Command: stepping.Next, Reason: "no caller is known"}),
		}
	})
}

// TestStepFallsBack: where the program cannot be read in time, or nothing is to be
// checked, Delve steps by itself.
func TestStepFallsBack(t *testing.T) {
	target := &fakeTarget{live: true}
	_, p := newStepper(t, target)
	for _, request := range []string{
		`{"seq":1,"type":"request","command":"next","arguments":{"threadId":1}}`,
		`{"seq":1,"type":"request","command":"next","arguments":{"threadId":1,"granularity":"instruction"}}`,
		`{"seq":1,"type":"request","command":"stepBack","arguments":{"threadId":1}}`,
		`{"seq":1,"type":"request","command":"next","arguments":{"threadId":"x"}}`,
	} {
		got := p.relay(request, request, `{"seq":1,"type":"response","request_seq":1,"success":true,"command":"c"}`)
		if !strings.Contains(got, `"success":true`) {
			t.Errorf("%s: %s", request, got)
		}
	}
	// A thread without a goroutine must be selected for Delve first.
	got := p.ask(`{"seq":2,"type":"request","command":"next","arguments":{"threadId":1073741831}}`)
	if !strings.Contains(got, `"id":2101`) || !strings.Contains(got, stop.ErrPatience.Error()) {
		t.Error(got)
	}
}

// TestStepDecisions: Delve is asked for the step, or for a continue to clew's breakpoint,
// which to the client is the step.
func TestStepDecisions(t *testing.T) {
	target := &fakeTarget{live: true}
	s, p := newStepper(t, target)
	const delegate = `{"seq":1,"type":"request","command":"delegate"}`
	p.relay(delegate, delegate, `{"seq":1,"type":"response","request_seq":1,"success":true,"command":"delegate"}`)
	if got := p.ask(`{"seq":2,"type":"request","command":"stepOut"}`); !strings.Contains(got, "no caller is known") || !strings.Contains(got, `"id":2101`) {
		t.Error(got)
	}
	if len(target.armed) != 0 {
		t.Errorf("armed: %+v", target.armed)
	}
	const assist = `{"seq":3,"type":"request","command":"assist"}`
	p.relay(assist, assist, `{"seq":1,"type":"response","request_seq":3,"success":true,"command":"assist"}`)
	s.end()
	s.end()
	if len(target.armed) != 1 || target.armed[0].PC != 0x42 || target.ended != 1 {
		t.Errorf("armed: %+v, ended %d times", target.armed, target.ended)
	}
	p.write(p.client, `{"seq":4,"type":"request","command":"return","arguments":{"threadId":3}}`)
	p.expect(p.fromProxy, `{"seq":4,"type":"event","event":"continued","body":{"threadId":3,"allThreadsContinued":true}}`)
	p.expect(p.toPeer, `{"seq":4,"type":"request","command":"continue","arguments":{"threadId":3}}`)
	p.write(p.peer, `{"seq":9,"type":"response","request_seq":4,"success":true,"command":"continue","body":{"allThreadsContinued":true}}`)
	p.expect(p.fromProxy, `{"seq":5,"type":"response","request_seq":4,"success":true,"command":"return","body":{}}`)
	// A step that Delve refuses leaves no breakpoint behind.
	ended := target.ended
	p.relay(assist, assist, `{"seq":1,"type":"response","request_seq":3,"success":false,"command":"assist"}`)
	if target.ended != ended+1 {
		t.Error("a refused step's breakpoint stays")
	}
	// A step into one of a line's calls is a next for Delve.
	p.write(p.client, `{"seq":5,"type":"request","command":"stepIn"}`)
	p.expect(p.toPeer, `{"seq":5,"type":"request","command":"next"}`)
	p.write(p.peer, `{"seq":9,"type":"response","request_seq":5,"success":true,"command":"next"}`)
	p.expect(p.fromProxy, `{"seq":7,"type":"response","request_seq":5,"success":true,"command":"stepIn","body":{}}`)
	target.armErr = errors.New("no place for a breakpoint")
	for _, command := range []string{"assist", "stepIn"} {
		if got := p.ask(`{"seq":6,"type":"request","command":"` + command + `"}`); !strings.Contains(got, "no place for a breakpoint") {
			t.Error(got)
		}
	}
}

// TestStepTargets: targets of the innermost frame alone, told apart where they have one name, and of this stop.
func TestStepTargets(t *testing.T) {
	list := new(targets)
	at := stop.Moment{Epoch: 3}
	got := list.list(at, []steps.Call{{PC: 0x10, Name: "f"}, {PC: 0x20, Name: "g"}, {PC: 0x30, Name: "f"}})
	if len(got) != 3 || got[0].Label != "f" || got[2].Label != "f (2)" {
		t.Errorf("%+v", got)
	}
	if pc, err := list.call(at, got[2].Id); pc != 0x30 || err != nil {
		t.Errorf("%#x, %v", pc, err)
	}
	for _, id := range []int{0, -1, 4} {
		if _, err := list.call(at, id); err == nil {
			t.Errorf("there is a call %d", id)
		}
	}
	if _, err := list.call(stop.Moment{Epoch: 4}, 1); err == nil {
		t.Error("a call of another stop")
	}
}

// TestSettle: a request of clew's own is refused in Delve's words while the program runs.
func TestSettle(t *testing.T) {
	p := newRoutes(t, func(w *wire.Bridge) map[string]handler {
		return map[string]handler{"clew/x": func(ctx context.Context, m *dapwire.Message) error {
			err := w.Settle(ctx, m)
			if err == nil {
				w.Client.Respond(m, nil)
			}
			return err
		}}
	})
	for body, want := range map[string]string{
		`{"error":{"id":2004,"format":"Unable to produce stack trace: debuggee is running"}}`: `"format":"Unable to process ` + "`clew/x`" + `: Unable to produce stack trace: debuggee is running"`,
		`{}`:            ": no stack\"",
		`{"error":"x"}`: ": no stack\"",
	} {
		p.write(p.client, `{"seq":1,"type":"request","command":"clew/x"}`)
		m := p.injected("stackTrace", `{"threadId":-1,"levels":1}`)
		p.answer(m, "false", body)
		if got, err := p.fromProxy.Read(); err != nil || !strings.Contains(string(got), want) || !strings.Contains(string(got), `"id":2004`) {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
	p.write(p.client, `{"seq":2,"type":"request","command":"clew/x"}`)
	p.answer(p.injected("stackTrace", `{"threadId":-1,"levels":1}`), "true", `{}`)
	if got, err := p.fromProxy.Read(); err != nil || !strings.Contains(string(got), `"request_seq":2,"success":true,"command":"clew/x"`) {
		t.Errorf("%s, %v", got, err)
	}
}

// injected reads a request of clew's own.
func (p *pair) injected(command, arguments string) *dapwire.Message {
	p.t.Helper()
	content, err := p.toPeer.Read()
	if err != nil {
		p.t.Fatal(err)
	}
	m, err := dapwire.Parse(content)
	if err != nil {
		p.t.Fatal(err)
	}
	if got, _ := m.Get("arguments"); m.Command != command || string(got) != arguments || m.Seq < 1<<40 {
		p.t.Fatalf("%s, want %s %s", content, command, arguments)
	}
	return m
}

// answer answers a request of clew's own.
func (p *pair) answer(m *dapwire.Message, success, body string) {
	p.t.Helper()
	p.write(p.peer, fmt.Sprintf(`{"seq":1,"type":"response","request_seq":%d,"success":%s,"command":%q,"body":%s}`, m.Seq, success, m.Command, body))
}
