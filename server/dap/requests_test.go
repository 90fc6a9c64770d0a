package dap

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/internal/version"
	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/frames"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/server/session"
	"github.com/clewdbg/clew/server/stop"
)

// fakeSource refuses a strategy named "nosuch".
type fakeSource struct{ opened []debuggee.StrategyConfig }

func (s *fakeSource) Check(want debuggee.StrategyConfig) error {
	if slices.Contains(want.Names, "nosuch") {
		return errors.New(`strategies: there is no "nosuch"`)
	}
	return nil
}

func (s *fakeSource) Open(want debuggee.StrategyConfig) (*debuggee.Strategies, error) {
	s.opened = append(s.opened, want)
	return nil, errors.New("no plugins here")
}

// newLauncher plays a launcher.
func newLauncher(t *testing.T) (*launcher, *fakeGuard, *pair) {
	guard, st := &fakeGuard{}, new(debuggee.State)
	c := debuggee.DefaultConfig()
	l := &launcher{config: &c, strategies: &fakeSource{}, startAhead: func(string) {}}
	p := newRoutes(t, func(w *wire.Bridge) map[string]handler {
		target := func() debuggee.Target { return nil }
		l.wire, l.guard = w, &programGuard{guard: guard, log: t.Logf}
		l.run = &running{tell: func(session.Event) {}, up: w.Up, state: st, alias: new(debuggee.ThreadAlias), target: target}
		return map[string]handler{"launch": l.onLaunch, "attach": l.onAttach, "restart": l.onRestart}
	})
	return l, guard, p
}

// TestLaunchRefused: what is wrong with clew's own attribute is said by its key, and Delve
// does not hear of the request.
func TestLaunchRefused(t *testing.T) {
	_, guard, p := newLauncher(t)
	for clew, want := range map[string]string{
		`5`:                         "clew: number where",
		`{"anotate":"off"}`:         `clew: unknown field \"anotate\"`,
		`{"annotate":"loud"}`:       `clew.annotate is \"loud\", not labels, names or off`,
		`{"names":"long"}`:          "clew.names: unknown style \\\"long\\\"; known: short, full",
		`{"annotate":1}`:            "clew.annotate: number where",
		`{"strategies":["nosuch"]}`: `clew.strategies: there is no \"nosuch\"`,
		`{"strategies":"scan"}`:     "clew.strategies: string where",
	} {
		for _, command := range []string{"launch", "attach"} {
			got := p.ask(`{"seq":1,"type":"request","command":"` + command + `","arguments":{"processId":5,"clew":` + clew + `}}`)
			if !strings.Contains(got, want) || !strings.Contains(got, `"message":"Failed to `+command+`"`) || !strings.Contains(got, `"id":8888`) {
				t.Errorf("%s %s: %s, want %s", command, clew, got, want)
			}
		}
		if got := p.ask(`{"seq":1,"type":"request","command":"restart","arguments":{"arguments":{"clew":` + clew + `}}}`); !strings.Contains(got, want) {
			t.Errorf("restart %s: %s, want %s", clew, got, want)
		}
	}
	if guard.told != nil {
		t.Errorf("the guard is told: %q", guard.told)
	}
}

// TestLaunch: requests pass with their bytes, and configure the session.
func TestLaunch(t *testing.T) {
	l, guard, p := newLauncher(t)
	pass := func(request, passed string) {
		t.Helper()
		if got := p.relay(request, passed, `{"seq":1,"type":"response","request_seq":1,"success":true,"command":"c"}`); !strings.Contains(got, `"success":true`) {
			t.Error(got)
		}
	}
	same := func(request string) { t.Helper(); pass(request, request) }
	same(`{"seq":1,"type":"request","command":"launch","arguments":{"stackTraceDepth":7,"substitutePath":[{"from":"/client","to":"/debugger"}],"clew":{"annotate":"names","strategies":["scan"]}}}`)
	if shown := l.config.Get().Shown; shown != (debuggee.Shown{Depth: 7, Annotate: debuggee.AnnotateNames, Names: names.StyleShort}) || l.config.ClientPath("/debugger/x.go") != "/client/x.go" || !slices.Equal(l.config.Get().Strategies.Names, []string{"scan"}) {
		t.Errorf("%+v, %s, %+v", shown, l.config.ClientPath("/debugger/x.go"), l.config.Get().Strategies)
	}
	same(`{"seq":1,"type":"request","command":"launch","arguments":{"stackTraceDepth":"x","clew":{"annotate":"off","names":"full"}}}`) // for Delve to refuse
	if shown := l.config.Get().Shown; shown != (debuggee.Shown{Depth: 7, Annotate: debuggee.AnnotateOff, Names: names.StyleFull}) {
		t.Errorf("%+v", shown)
	}
	same(`{"seq":1,"type":"request","command":"attach","arguments":{"processId":5}}`)
	same(`{"seq":1,"type":"request","command":"restart","arguments":{"arguments":{"program":"p","stackTraceDepth":9}}}`)
	if depth := l.config.Get().Depth; depth != 9 {
		t.Errorf("after a restart: depth %d", depth)
	}
	if !slices.Equal(guard.told, []string{"attach 5", "restart"}) {
		t.Errorf("the guard is told: %q", guard.told)
	}
	// No program writes in a core file or a recording.
	pass(`{"seq":1,"type":"request","command":"launch","arguments":{"mode":"replay","outputMode":"remote"}}`,
		`{"seq":1,"type":"request","command":"launch","arguments":{"mode":"replay","outputMode":"local"}}`)
	same(`{"seq":1,"type":"request","command":"launch","arguments":{"mode":"core","coreFilePath":"/nonexistent","program":"/p","outputMode":"local"}}`)
	if s := l.config.Get(); s.Core != "/nonexistent" || s.Executable != "/p" {
		t.Errorf("%q of %q", s.Core, s.Executable)
	}
}

// fakeInserter answers about frames that only clew knows.
type fakeInserter struct {
	err error
	ref frames.Ref
}

func (l *fakeInserter) FrameOf(*dapwire.Message) (stop.Moment, frames.Ref, bool, error) {
	return stop.Moment{}, l.ref, true, nil
}

func (l *fakeInserter) InFrame(_ context.Context, m *dapwire.Message, _ frames.Ref, _ bool) (*dapwire.Message, error) {
	if l.err != nil {
		return nil, l.err
	}
	return dapwire.NewResponse(m, dap.EvaluateResponseBody{Result: "inserted", VariablesReference: 1005})
}

func (l *fakeInserter) MapReferences(answer *dapwire.Message, _ stop.Moment, _ frames.Ref, list string) {
	answer.Set("mapped", []byte(`"`+list+`"`))
}

// newVariables plays the requests about variables, at a stop.
func newVariables(t *testing.T) (*variables, *fakeInserter, *pair) {
	c, inserter := debuggee.DefaultConfig(), &fakeInserter{}
	v := &variables{state: new(debuggee.State), frames: new(frames.IDs), config: &c, inserter: inserter, memory: &memory{caps: new(clientCapabilities)}}
	v.state.Stops()
	return v, inserter, newRoutes(t, func(w *wire.Bridge) map[string]handler {
		v.wire = w
		v.run = &running{tell: func(session.Event) {}, up: w.Up, state: v.state, target: func() debuggee.Target { return nil }}
		console := &console{wire: w, caps: v.memory.caps, complete: v.complete}
		return map[string]handler{"completions": console.onCompletions, "variables": v.onVariables, "setVariable": v.onSetVariable, "setExpression": v.onSetExpression, "evaluate": v.onEvaluate, "dataBreakpointInfo": v.onDataBreakpointInfo}
	})
}

// reference makes clew's reference for variables.
func (v *variables) reference(h frames.Held) string {
	at, _ := v.state.At()
	return string(itoa(v.frames.MintVars(at.Epoch, h)))
}

// TestVariables: clew's own variables are read page by page, those of an inserted frame are
// Delve's, and others pass.
func TestVariables(t *testing.T) {
	v, _, p := newVariables(t)
	own := v.reference(frames.Held{Vars: []dap.Variable{{Name: "rax", Value: "0x1"}, {Name: "rbx", Value: "0x2"}, {Name: "rcx", Value: "0x3"}}})
	for page, want := range map[string]string{
		``: "rax rbx rcx", `,"start":1`: "rbx rcx", `,"start":1,"count":1`: "rbx", `,"count":9`: "rax rbx rcx", `,"start":9`: "", `,"filter":"indexed"`: "", `,"filter":"named","start":-1,"count":1`: "rax",
	} {
		got := p.ask(`{"seq":1,"type":"request","command":"variables","arguments":{"variablesReference":` + own + page + `}}`)
		var names []string
		for _, name := range []string{"rax", "rbx", "rcx"} {
			if strings.Contains(got, `{"name":"`+name+`","value":"0x`) {
				names = append(names, name)
			}
		}
		if strings.Join(names, " ") != want || strings.Count(got, `"variablesReference":0`) != len(names) || want == "" && !strings.Contains(got, `"variables":[]`) {
			t.Errorf("%s: %s, want %s", page, got, want)
		}
	}
	inserted := v.reference(frames.Held{Delve: 1005})
	got := p.relay(`{"seq":1,"type":"request","command":"variables","arguments":{"variablesReference":`+inserted+`,"start":0}}`,
		`{"seq":1,"type":"request","command":"variables","arguments":{"variablesReference":1005,"start":0}}`,
		`{"seq":1,"type":"response","request_seq":1,"success":true,"command":"variables"}`)
	if !strings.Contains(got, `"mapped":"variables"`) {
		t.Error(got)
	}
	const delves = `{"seq":1,"type":"request","command":"variables","arguments":{"variablesReference":1000}}`
	p.relay(delves, delves, `{"seq":1,"type":"response","request_seq":1,"success":true,"command":"variables"}`)
	v.state.Runs()
	if got := p.ask(`{"seq":1,"type":"request","command":"variables","arguments":{"variablesReference":` + own + `}}`); !strings.Contains(got, "debuggee is running") || !strings.Contains(got, `"id":2008`) {
		t.Error(got)
	}
	v.state.Stops()
	if got := p.ask(`{"seq":1,"type":"request","command":"variables","arguments":{"variablesReference":` + own + `}}`); !strings.Contains(got, "not of the present stop") {
		t.Error(got)
	}
}

// TestSetVariable: what clew has recovered is not changed, and no new string is made in a
// inserted frame. Memory counts as written all the same.
func TestSetVariable(t *testing.T) {
	v, inserter, p := newVariables(t)
	set := func(reference, name string) string {
		return `{"seq":1,"type":"request","command":"setVariable","arguments":{"variablesReference":` + reference + `,"name":"` + name + `","value":"1"}}`
	}
	if got := p.ask(set(v.reference(frames.Held{Vars: []dap.Variable{{Name: "rax"}}}), "rax")); !strings.Contains(got, "cannot be changed") || !strings.Contains(got, `"id":2012`) {
		t.Error(got)
	}
	inserted := v.reference(frames.Held{Delve: 1005})
	for name, want := range map[string]string{"s": "the program would have to run", "n": `"result":"inserted"`} {
		p.write(p.client, set(inserted, name))
		p.answer(p.injected("variables", `{"variablesReference":1005}`), "true", `{"variables":[{"name":"s","type":"string"},{"name":"n","type":"int"}]}`)
		if got, err := p.fromProxy.Read(); err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s: %s, %v, want %s", name, got, err, want)
		}
	}
	inserter.err = errors.New("no frame of Delve's")
	p.write(p.client, set(inserted, "n"))
	p.answer(p.injected("variables", `{"variablesReference":1005}`), "false", `{}`)
	if got, err := p.fromProxy.Read(); err != nil || !strings.Contains(string(got), inserter.err.Error()) {
		t.Errorf("%s, %v", got, err)
	}
	p.relay(set("1000", "x"), set("1000", "x"), `{"seq":1,"type":"response","request_seq":1,"success":true,"command":"setVariable"}`)
	if at, _ := v.state.At(); at.Writes != 3 {
		t.Errorf("memory was written %d times", at.Writes)
	}
}

// TestEvaluate: a frame that only clew knows is inserted, except for a call; Delve's
// own commands are about no frame.
func TestEvaluate(t *testing.T) {
	v, inserter, p := newVariables(t)
	own := string(itoa(debuggee.FirstID + 5))
	evaluate := func(expression, frame string) string {
		return `{"seq":1,"type":"request","command":"evaluate","arguments":{"expression":"` + expression + `","frameId":` + frame + `}}`
	}
	if got := p.ask(evaluate("x", own)); !strings.Contains(got, `"result":"inserted"`) || !strings.Contains(got, `"mapped":""`) {
		t.Error(got)
	}
	if got := p.ask(evaluate("call f()", own)); !strings.Contains(got, "calls are made from the innermost frame") || !strings.Contains(got, `"id":2009`) {
		t.Error(got)
	}
	inserter.err = errors.New("no CFA")
	if got := p.ask(evaluate("x", own)); !strings.Contains(got, inserter.err.Error()) {
		t.Error(got)
	}
	const answer = `{"seq":1,"type":"response","request_seq":1,"success":true,"command":"evaluate"}`
	for _, c := range []struct {
		request, passed string
		wrote           uint64
	}{
		{evaluate("x", "1000"), evaluate("x", "1000"), 0},
		{evaluate("call f()", "1000"), evaluate("call f()", "1000"), 1},
		{evaluate("dlv help", own), evaluate("dlv help", "0"), 1},
		{evaluate("dlv config substitutePath /a /b", own), evaluate("dlv config substitutePath /a /b", "0"), 2},
		{`{"seq":1,"type":"request","command":"evaluate","arguments":{"expression":5}}`, `{"seq":1,"type":"request","command":"evaluate","arguments":{"expression":5}}`, 2},
	} {
		p.relay(c.request, c.passed, answer)
		if at, _ := v.state.At(); at.Writes != c.wrote {
			t.Errorf("%s: %d changes", c.request, at.Writes)
		}
	}
}

// TestDataBreakpointInfo: an expression in an inserted frame is refused, a variable is Delve's.
func TestDataBreakpointInfo(t *testing.T) {
	v, _, p := newVariables(t)
	info := func(arguments string) string {
		return `{"seq":1,"type":"request","command":"dataBreakpointInfo","arguments":{` + arguments + `}}`
	}
	for arguments, want := range map[string]string{
		`"frameId":` + string(itoa(debuggee.FirstID+5)) + `,"name":"x"`:                                           "are set on the variables in its scopes",
		`"variablesReference":` + v.reference(frames.Held{Vars: []dap.Variable{{Name: "rax"}}}) + `,"name":"rax"`: "no variable of the program",
		`"variablesReference":` + string(itoa(2*debuggee.FirstID-1)) + `,"name":"x"`:                              "not of the present stop",
	} {
		if got := p.ask(info(arguments)); !strings.Contains(got, want) || !strings.Contains(got, `"id":2017`) {
			t.Errorf("%s: %s", arguments, got)
		}
	}
	const answer = `{"seq":1,"type":"response","request_seq":1,"success":true,"command":"x"}`
	p.relay(info(`"variablesReference":`+v.reference(frames.Held{Delve: 1005})+`,"name":"x"`), info(`"variablesReference":1005,"name":"x"`), answer)
	p.relay(info(`"frameId":1000,"name":"x"`), info(`"frameId":1000,"name":"x"`), answer)
}

// TestInitialize: clew's capabilities come on top of Delve's; an upstream that has them is
// clew, and gets every message.
func TestInitialize(t *testing.T) {
	i := &initializer{client: session.New(session.Options{}).Join("editor", nil)}
	p := newRoutes(t, func(w *wire.Bridge) map[string]handler {
		i.wire = w
		return map[string]handler{"initialize": i.onInitialize, "threads": func(_ context.Context, m *dapwire.Message) error {
			w.Client.Respond(m, nil)
			return nil
		}}
	})
	const request = `{"seq":1,"type":"request","command":"initialize","arguments":{"supportsProgressReporting":true,"columnsStartAt1":false}}`
	got := p.relay(request, request, `{"seq":1,"type":"response","request_seq":1,"success":true,"command":"initialize","body":{"supportsX":true,"supportsCancelRequest":false}}`)
	if !strings.HasSuffix(got, `"body":{"supportsX":true,"supportsCancelRequest":true,"supportsClew":true,"clewVersion":"`+version.Get().Version+`","supportsCompletionsRequest":true,"completionTriggerCharacters":["."],"supportsSetExpression":true,"supportsModulesRequest":true,"additionalModuleColumns":`+moduleColumns+`}}`) {
		t.Error(got)
	}
	if !i.caps.SupportsProgressReporting || i.caps.ColumnsStartAt1 == nil || *i.caps.ColumnsStartAt1 {
		t.Errorf("%+v", i.caps)
	}
	if got := p.ask(`{"seq":2,"type":"request","command":"threads"}`); !strings.Contains(got, `"request_seq":2,"success":true`) {
		t.Error(got)
	}
	const failed = `{"seq":1,"type":"response","request_seq":1,"success":false,"command":"initialize","body":{}}`
	if got := p.relay(request, request, failed); strings.Contains(got, "supportsClew") {
		t.Error(got)
	}
	p.relay(request, request, `{"seq":1,"type":"response","request_seq":1,"success":true,"command":"initialize","body":{"supportsClew":true}}`)
	const threads = `{"seq":2,"type":"request","command":"threads"}`
	p.relay(threads, threads, `{"seq":1,"type":"response","request_seq":2,"success":true,"command":"threads"}`)
}

// TestExportArguments: what is wrong is refused before Delve is asked.
func TestExportArguments(t *testing.T) {
	p := newRoutes(t, func(w *wire.Bridge) map[string]handler {
		e := &exporter{wire: w, program: failing(nil, stop.ErrBusy), caps: new(clientCapabilities)}
		r := &reunwinder{wire: w, program: e.program}
		return map[string]handler{"clew/export": e.onExport, "clew/reunwind": r.onReunwind, "clew/images": (&imageLister{w, e.program}).onImages}
	})
	for arguments, want := range map[string]string{
		`{}`:                            "threadId is missing, and so is all",
		`{"threadId":1,"all":true}`:     "not both",
		`{"threadId":1,"depth":-1}`:     "depth -1 is negative",
		`{"threadId":1,"format":"pdf"}`: "unknown format",
		`{"all":"frames"}`:              "all is",
		`{"threadId":"x"}`:              "threadId is no int64",
	} {
		if got := p.ask(`{"seq":1,"type":"request","command":"clew/export","arguments":` + arguments + `}`); !strings.Contains(got, want) || !strings.Contains(got, `"id":2103`) {
			t.Errorf("%s: %s, want %s", arguments, got, want)
		}
	}
	for _, arguments := range []string{`{}`, `{"strategies":[]}`, `{"strategies":[""]}`} {
		if got := p.ask(`{"seq":1,"type":"request","command":"clew/reunwind","arguments":` + arguments + `}`); !strings.Contains(got, "strategies is missing") {
			t.Errorf("%s: %s", arguments, got)
		}
	}
	// Delve stands still, and clew's work fails.
	for _, request := range []string{
		`"clew/export","arguments":{"all":"threads","format":"text"}`, `"clew/reunwind","arguments":{"strategies":["scan"]}`, `"clew/images"`,
	} {
		p.write(p.client, `{"seq":1,"type":"request","command":`+request+`}`)
		p.answer(p.injected("stackTrace", `{"threadId":-1,"levels":1}`), "true", `{}`)
		if got, err := p.fromProxy.Read(); err != nil || !strings.Contains(string(got), stop.ErrBusy.Error()) || !strings.Contains(string(got), `"id":2103`) {
			t.Errorf("%s: %s, %v", request, got, err)
		}
	}
}

// TestPluginsWithoutStrategies: the list says why there are none, and only one piece of
// work is done at a time.
func TestPluginsWithoutStrategies(t *testing.T) {
	source := &fakeSource{}
	p := newPair(t, Options{Strategies: source})
	for range 2 { // the failure is kept
		p.write(p.client, `{"seq":1,"type":"request","command":"clew/plugins"}`)
		for {
			got, err := p.fromProxy.Read()
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(got), `"event":"output"`) {
				continue
			}
			if !strings.Contains(string(got), "no plugins here") {
				t.Errorf("%s", got)
			}
			break
		}
	}
	if len(source.opened) != 1 {
		t.Errorf("opened: %+v", source.opened)
	}
	l := &pluginLister{program: &debuggee.Program{Stops: stop.New(stop.Options{Patience: 1})}}
	if err := l.program.Stops.Alone(t.Context(), func(ctx context.Context) error {
		if _, err := l.list(ctx); !errors.Is(err, stop.ErrPatience) {
			t.Errorf("while other work is done: %v", err)
		}
		return nil
	}); !errors.Is(err, stop.ErrPatience) {
		t.Errorf("the other work: %v", err)
	}
}
